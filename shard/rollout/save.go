package rollout

import (
	"fmt"

	"github.com/signalbox/signalbox/shard/internal/form"
)

// formNumber is what saved bytes begin with.
const formNumber = 1

// ErrForm is in errors about bytes that no rollout was saved as, ErrNewerForm in those about bytes of a later form.
var (
	ErrForm      = form.Err
	ErrNewerForm = form.ErrNewer
)

// Save appends the rollout, without its instances. Equal rollouts have equal bytes.
func (r *Rollout) Save(dst []byte) []byte {
	c := form.Writer(dst)
	r.code(c)
	return c.Data()
}

// Load makes a rollout from what was saved. No instance has joined it yet: each one that had is put back with Attach,
// before anything else is done.
func Load(src []byte) (*Rollout, error) {
	r := &Rollout{byName: make(map[string]*Instance)}
	if err := form.Newer(src, formNumber); err != nil {
		return nil, fmt.Errorf("rollout: load: %w", err)
	}
	c := form.Reader(src)
	r.code(c)
	if c.Sound() {
		r.check(c)
	}
	if err := c.Finish("rollout: load"); err != nil {
		return nil, err
	}
	r.resize()
	return r, nil
}

func (r *Rollout) code(c *form.Coder) {
	c.Form(formNumber)
	r.rules.code(c)
	c.Numbers(&r.lastSeq, &r.generation, &r.lastLocation, &r.lastTicket, &r.lastAct, &r.fence)
	c.Numbers(&r.resumed, &r.asked, &r.due, &r.headRevision, &r.specRevision, &r.ticketRevision)
	r.paused.code(c)
	r.halted.code(c)
	c.Numbers(&r.ticket.Number, &r.ticket.Source, &r.ticket.Opened)
	c.Text(&r.declined, MaxText)
	form.List(c, &r.sources, MaxSources, func(s *Source) {
		c.Number(&s.ID)
		c.Text(&s.Name, MaxText)
	})
	form.List(c, &r.audit, MaxAudit, func(a *Audit) { a.code(c) })
	form.List(c, &r.versions, MaxKeep+3*MaxLocations, func(v **Version) {
		if *v == nil {
			*v = &Version{}
		}
		(*v).code(c)
	})
	form.List(c, &r.locations, MaxLocations, func(l **Location) {
		if *l == nil {
			*l = &Location{}
		}
		(*l).code(c)
	})
}

func (ru *Rules) code(c *form.Coder) {
	form.Enum(c, &ru.DelayFrom, delayFroms)
	form.Enum(c, &ru.Source, sourceModes)
	re := &ru.Reelect
	form.List(c, &re.Codes, MaxCodes, func(s *string) { c.Text(s, MaxWord) })
	c.Numbers(&re.After, &re.Attempts, &re.MinInterval, &re.Max)
	c.Numbers(&ru.ProgressDeadline, &ru.HaltDeadline, &ru.KeepVersions, &ru.AskInterval)
}

func (s *Stop) code(c *form.Coder) {
	c.Number(&s.Since)
	form.Enum(c, &s.Reason, haltReasons)
	c.Text(&s.Location, MaxWord)
	c.Text(&s.By, MaxText)
	c.Text(&s.Why, MaxText)
}

func (a *Audit) code(c *form.Coder) {
	c.Numbers(&a.Number, &a.Since, &a.Wall)
	a.Act.code(c)
}

func (v *Version) code(c *form.Coder) {
	c.Numbers(&v.Seq, &v.Published, &v.Wall, &v.Revision)
	c.Flag(&v.Withdrawn)
	c.Bytes(&v.Payload, MaxPayload)
	c.Text(&v.Label, MaxText)
	c.Text(&v.Author, MaxText)
	c.Text(&v.Reason, MaxText)
	form.List(c, &v.Abandoned, MaxLocations, func(id *uint64) { c.Number(id) })
}

func (l *Location) code(c *form.Coder) {
	c.Number(&l.ID)
	l.Spec.code(c)
	form.List(c, &l.Gates, MaxGates, func(g *Gate) { g.code(c) })
	form.List(c, &l.History, MaxKeep, func(row *Row) { row.code(c) })
	c.Flag(&l.Bypassed)
	c.Flag(&l.Stuck)
	c.Numbers(&l.Inherited, &l.Back, &l.Bar.Above, &l.Bar.UpTo, &l.Reelections, &l.Reelected)
	c.Numbers(&l.Revision, &l.TargetRevision)
}

func (ls *LocationSpec) code(c *form.Coder) {
	c.Text(&ls.Name, MaxWord)
	c.Numbers(&ls.Delay, &ls.Require, &ls.MaxFailing)
	form.List(c, &ls.Gates, MaxGates, func(s *string) { c.Text(s, MaxWord) })
}

func (g *Gate) code(c *form.Coder) {
	c.Text(&g.Name, MaxWord)
	form.Enum(c, &g.Verdict, verdicts)
	c.Text(&g.By, MaxText)
	c.Text(&g.Text, MaxText)
	c.Number(&g.Since)
}

func (row *Row) code(c *form.Coder) {
	c.Numbers(&row.Seq, &row.Generation, &row.Assigned, &row.Reached, &row.Abandoned)
	c.Numbers(&row.AssignedWall, &row.ReachedWall, &row.AbandonedWall)
	form.Enum(c, &row.Cause, causes)
	c.Flag(&row.Waived)
	c.Text(&row.Note, MaxText)
}

func (i *Instance) code(c *form.Coder) {
	c.Form(formNumber)
	c.Text(&i.Name, MaxText)
	c.Text(&i.Location, MaxWord)
	c.Text(&i.Attributes, MaxAttributes)
	form.Enum(c, &i.Role, roles)
	form.Enum(c, &i.Status, statuses)
	form.Enum(c, &i.signal, signals)
	c.Text(&i.Code, MaxWord)
	c.Text(&i.Text, MaxText)
	c.Numbers(&i.Current, &i.Generation, &i.Attempts, &i.Since, &i.Sent, &i.Received, &i.Revision, &i.location)
}
