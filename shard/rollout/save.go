package rollout

import "errors"

// form is the number that saved bytes begin with. One that has more fields gets the next number.
const form = 1

// ErrNewerForm is returned for bytes of a later form.
var ErrNewerForm = errors.New("rollout: saved in a form that this build does not know")

// Save appends the rollout, without its instances. Equal rollouts have equal bytes.
func (r *Rollout) Save(dst []byte) []byte {
	c := &coder{data: dst}
	r.code(c)
	return c.data
}

// Load makes a rollout from what was saved. No instance has joined it yet: each one that had is put back with Attach,
// before anything else is done.
func Load(src []byte) (*Rollout, error) {
	r := &Rollout{byName: make(map[string]*Instance)}
	c := &coder{data: src, reading: true}
	if err := c.checkForm(src); err != nil {
		return nil, err
	}
	r.code(c)
	if c.bad == "" {
		r.check(c)
	}
	if err := c.finish("load"); err != nil {
		return nil, err
	}
	r.resize()
	return r, nil
}

func (c *coder) checkForm(src []byte) error {
	if len(src) > 0 && src[0] > form {
		return ErrNewerForm
	}
	return nil
}

func (c *coder) form() {
	v := uint64(form)
	c.number(&v)
	c.must(v == form, "the form is %d", v)
}

func (r *Rollout) code(c *coder) {
	c.form()
	r.rules.code(c)
	c.numbers(&r.lastSeq, &r.generation, &r.lastLocation, &r.lastTicket, &r.resumed, &r.asked, &r.due, &r.headRevision)
	r.paused.code(c)
	r.halted.code(c)
	c.numbers(&r.ticket.Number, &r.ticket.Source, &r.ticket.Opened)
	c.text(&r.declined, MaxText)
	list(c, &r.sources, MaxSources, func(s *Source) {
		c.number(&s.ID)
		c.text(&s.Name, MaxText)
	})
	list(c, &r.audit, MaxAudit, func(a *Audit) { a.code(c) })
	list(c, &r.versions, MaxKeep+3*MaxLocations, func(v **Version) {
		if *v == nil {
			*v = &Version{}
		}
		(*v).code(c)
	})
	list(c, &r.locations, MaxLocations, func(l **Location) {
		if *l == nil {
			*l = &Location{}
		}
		(*l).code(c)
	})
}

func (ru *Rules) code(c *coder) {
	enum(c, &ru.DelayFrom, delayFroms)
	enum(c, &ru.Source, sourceModes)
	re := &ru.Reelect
	list(c, &re.Codes, MaxCodes, func(s *string) { c.text(s, MaxWord) })
	c.numbers(&re.After, &re.Attempts, &re.MinInterval, &re.Max)
	c.numbers(&ru.ProgressDeadline, &ru.HaltDeadline, &ru.KeepVersions, &ru.AskInterval)
}

func (s *Stop) code(c *coder) {
	c.number(&s.Since)
	enum(c, &s.Reason, haltReasons)
	c.text(&s.Location, MaxWord)
	c.text(&s.By, MaxText)
	c.text(&s.Why, MaxText)
}

func (a *Audit) code(c *coder) {
	enum(c, &a.Verb, verbs)
	c.numbers(&a.Since, &a.Seq)
	c.text(&a.Locations, MaxText)
	c.text(&a.Author, MaxText)
	c.text(&a.Reason, MaxText)
}

func (v *Version) code(c *coder) {
	c.numbers(&v.Seq, &v.Published, &v.Revision)
	c.flag(&v.Withdrawn)
	c.bytes(&v.Payload, MaxPayload)
	c.text(&v.Label, MaxText)
	c.text(&v.Author, MaxText)
	list(c, &v.Abandoned, MaxLocations, func(id *uint64) { c.number(id) })
}

func (l *Location) code(c *coder) {
	c.number(&l.ID)
	ls := &l.Spec
	c.text(&ls.Name, MaxWord)
	c.numbers(&ls.Delay, &ls.Require, &ls.MaxFailing)
	list(c, &ls.Gates, MaxGates, func(s *string) { c.text(s, MaxWord) })
	list(c, &l.Gates, MaxGates, func(g *Gate) { g.code(c) })
	list(c, &l.History, MaxKeep, func(row *Row) { row.code(c) })
	c.flag(&l.Bypassed)
	c.flag(&l.Stuck)
	c.numbers(&l.Inherited, &l.Back, &l.Bar.Above, &l.Bar.UpTo, &l.Reelections, &l.Reelected)
	c.numbers(&l.Revision, &l.TargetRevision)
}

func (g *Gate) code(c *coder) {
	c.text(&g.Name, MaxWord)
	enum(c, &g.Verdict, verdicts)
	c.text(&g.By, MaxText)
	c.text(&g.Text, MaxText)
	c.number(&g.Since)
}

func (row *Row) code(c *coder) {
	c.numbers(&row.Seq, &row.Generation, &row.Assigned, &row.Reached, &row.Abandoned)
	enum(c, &row.Cause, causes)
	c.flag(&row.Waived)
	c.text(&row.Note, MaxText)
}

func (i *Instance) code(c *coder) {
	c.form()
	c.text(&i.Name, MaxText)
	c.text(&i.Location, MaxWord)
	c.text(&i.Attributes, MaxAttributes)
	enum(c, &i.Role, roles)
	enum(c, &i.Status, statuses)
	enum(c, &i.signal, signals)
	c.text(&i.Code, MaxWord)
	c.text(&i.Text, MaxText)
	c.numbers(&i.Current, &i.Generation, &i.Attempts, &i.Since, &i.Sent, &i.Received, &i.Revision, &i.location)
}
