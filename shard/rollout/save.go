package rollout

import (
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// formNumber is the first number for saved bytes.
const formNumber = 1

// ErrForm is wrapped by errors about bytes that are not a saved rollout, ErrNewerForm by errors about bytes in a later
// form.
var (
	ErrForm      = codec.Err
	ErrNewerForm = codec.ErrNewer
)

// Save appends the rollout, without its instances. Equal rollouts have equal bytes.
func (r *Rollout) Save(dst []byte) []byte {
	return codec.Save(dst, r.code)
}

// Load decodes a rollout. The rollout has no instances yet: the caller puts each former instance back with Attach,
// before any command.
func Load(src []byte) (*Rollout, error) {
	r := &Rollout{byName: make(map[string]*Instance)}
	if err := codec.Load(src, formNumber, "rollout: load", r.code, r.check); err != nil {
		return nil, err
	}
	r.resize()
	return r, nil
}

func (r *Rollout) code(c *codec.Coder) {
	c.Form(formNumber)
	c.Fields(r.rules.Rules)
	c.Numbers(&r.lastSeq, &r.generation, &r.lastLocation, &r.lastTicket, &r.lastAct, &r.fence)
	c.Numbers(&r.resumed, &r.asked, &r.due, &r.headRevision, &r.specRevision, &r.ticketRevision)
	r.paused.code(c)
	r.halted.code(c)
	c.Numbers(&r.ticket.Number, &r.ticket.Source, &r.ticket.Opened)
	c.Text(&r.declined, kind.MaxText)
	codec.List(c, &r.sources, kind.MaxSources, func(s *Source) {
		c.Number(&s.ID)
		c.Text(&s.Name, kind.MaxText)
	})
	codec.List(c, &r.audit, MaxAudit, func(a *Audit) { a.code(c) })
	codec.Pointers(c, &r.versions, kind.MaxKeep+3*kind.MaxLocations, (*Version).code)
	codec.Pointers(c, &r.locations, kind.MaxLocations, (*Location).code)
}

func (s *Stop) code(c *codec.Coder) {
	c.Number(&s.Since)
	codec.Enum(c, &s.Reason, kind.HaltReasons)
	c.Text(&s.Location, kind.MaxWord)
	c.Text(&s.By, kind.MaxText)
	c.Text(&s.Why, kind.MaxText)
}

func (a *Audit) code(c *codec.Coder) {
	c.Numbers(&a.Number, &a.Since, &a.Wall)
	c.Fields(a.Action.Fields)
}

func (v *Version) code(c *codec.Coder) {
	c.Numbers(&v.Seq, &v.Published, &v.Wall, &v.Revision)
	c.Flag(&v.Withdrawn)
	c.Bytes(&v.Payload, kind.MaxPayload)
	c.Text(&v.Label, kind.MaxText)
	c.Text(&v.Author, kind.MaxText)
	c.Text(&v.Reason, kind.MaxText)
	codec.List(c, &v.Abandoned, kind.MaxLocations, func(id *uint64) { c.Number(id) })
}

func (l *Location) code(c *codec.Coder) {
	c.Number(&l.ID)
	c.Fields(l.Spec.Fields)
	codec.List(c, &l.Gates, kind.MaxGates, func(g *Gate) { g.code(c) })
	codec.List(c, &l.History, kind.MaxKeep, func(row *Row) { row.code(c) })
	c.Flag(&l.Bypassed)
	c.Flag(&l.Stalled)
	c.Numbers(&l.Inherited, &l.Back, &l.Bar.Above, &l.Bar.UpTo, &l.Reelections, &l.Reelected)
	c.Numbers(&l.Revision, &l.TargetRevision)
}

func (g *Gate) code(c *codec.Coder) {
	c.Text(&g.Name, kind.MaxWord)
	codec.Enum(c, &g.Verdict, kind.Results)
	c.Text(&g.By, kind.MaxText)
	c.Text(&g.Text, kind.MaxText)
	c.Number(&g.Since)
}

func (row *Row) code(c *codec.Coder) {
	c.Numbers(&row.Seq, &row.Generation, &row.Assigned, &row.Reached, &row.Abandoned)
	c.Numbers(&row.AssignedWall, &row.ReachedWall, &row.AbandonedWall)
	codec.Enum(c, &row.Cause, kind.Causes)
	c.Flag(&row.Waived)
	c.Text(&row.Note, kind.MaxText)
}

func (i *Instance) code(c *codec.Coder) {
	c.Form(formNumber)
	c.Text(&i.Name, kind.MaxText)
	c.Text(&i.Location, kind.MaxWord)
	c.Text(&i.Attributes, kind.MaxAttributes)
	codec.Enum(c, &i.Role, roles)
	codec.Enum(c, &i.Status, kind.Statuses)
	codec.Enum(c, &i.signal, signals)
	c.Text(&i.Code, kind.MaxWord)
	c.Text(&i.Text, kind.MaxText)
	c.Numbers(&i.Current, &i.Generation, &i.Attempts, &i.Since, &i.Sent, &i.Received, &i.Revision, &i.location)
}
