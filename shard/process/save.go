package process

import (
	"slices"

	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// formNumber is the first number for saved bytes and command forms.
const formNumber = 1

// ErrForm is wrapped by errors about bytes that are not a saved process, ErrNewerForm by errors about bytes in a later
// form.
var (
	ErrForm      = codec.Err
	ErrNewerForm = codec.ErrNewer
)

// Save appends the process, without its members. Equal processes have equal bytes.
func (p *Process) Save(dst []byte) []byte {
	return codec.Save(dst, p.code)
}

// Load decodes a process. The process has no members yet: the caller puts each former member back with Attach, and then
// calls Attached, before any command.
func Load(src []byte) (*Process, error) {
	p := &Process{}
	if err := codec.Load(src, formNumber, "process: load", p.code, p.check); err != nil {
		return nil, err
	}
	p.count()
	return p, nil
}

func (p *Process) code(c *codec.Coder) {
	c.Form(formNumber)
	c.Fields(p.spec.Fields)
	c.Numbers(&p.epoch, &p.since, &p.opened, &p.coordinator, &p.changed, &p.opens, &p.lastExchange, &p.due)
	rev := &p.revisions
	c.Numbers(&rev.whole, &rev.head, &rev.results, &rev.spec)
	codec.Enum(c, &p.state, kind.Phases)
	c.Flag(&p.late)
	codec.List(c, &p.view, kind.MaxMembers, func(id *uint64) { c.Number(id) })
	codec.Pointers(c, &p.exchanges, maxExchanges, (*Exchange).code)
	codec.Pointers(c, &p.results, kind.MaxKeep, (*Result).code)
	codec.List(c, &p.audit, MaxAudit, func(a *Audit) { a.code(c) })
}

func (a *Audit) code(c *codec.Coder) {
	codec.Enum(c, &a.Verb, kind.ActionKinds)
	c.Numbers(&a.Number, &a.At, &a.Wall, &a.Epoch, &a.Member)
	c.Text(&a.Name, kind.MaxText)
	c.Fields(a.By.Fields)
}

func (r *Result) code(c *codec.Coder) {
	c.Numbers(&r.Epoch, &r.At, &r.Wall)
	c.Bytes(&r.Payload, kind.MaxPayload)
}

func (e *Exchange) code(c *codec.Coder) {
	c.Numbers(&e.id, &e.epoch, &e.from, &e.sent, &e.deadline)
	c.Flag(&e.late)
	codec.Enum(c, &e.outcome, kind.Outcomes)
	c.Bytes(&e.payload, kind.MaxPayload)
	codec.List(c, (*[]uint64)(&e.waiting), words(kind.MaxMembers), func(w *uint64) { c.Number(w) })
	codec.List(c, &e.replies, kind.MaxMembers, func(r *Reply) {
		c.Number(&r.From)
		c.Flag(&r.Failed)
		c.Bytes(&r.Data, kind.MaxPayload)
	})
	missing := uint64(e.missing)
	c.Number(&missing)
	c.Must(missing <= kind.MaxMembers, "%d members have not replied", missing)
	if c.Reading() {
		e.missing = int(missing)
	}
	codec.List(c, &e.missed, maxMissed, func(id *uint64) { c.Number(id) })
}

// Save appends the member, without its ID. Equal members have equal bytes.
func (m *Member) Save(dst []byte) []byte {
	return codec.Save(dst, m.code)
}

// Load replaces the member by a saved member; ID and Ref stay.
func (m *Member) Load(src []byte) error {
	loaded := Member{ID: m.ID, Ref: m.Ref}
	if err := codec.Load(src, formNumber, "process: load member", loaded.code, loaded.check); err != nil {
		return err
	}
	*m = loaded
	return nil
}

func (m *Member) code(c *codec.Coder) {
	c.Form(formNumber)
	c.Text(&m.Name, kind.MaxText)
	c.Text(&m.Attributes, kind.MaxAttributes)
	c.Flag(&m.Candidate)
	c.Numbers(&m.Joined, &m.Prepared, &m.Completed, &m.lastSeq, &m.acked)
	codec.List(c, &m.items, maxItems, func(i *item) { i.code(c) })
}

// code encodes or decodes an item. After decoding, an item that refers to an exchange has a placeholder exchange with
// only the ID. Attach replaces the placeholder by the process's exchange.
func (i *item) code(c *codec.Coder) {
	parts := uint64(i.parts)
	c.Numbers(&i.seq, &i.epoch, &parts)
	c.Must(parts != 0 && parts < 1<<16, "an item has %d parts", parts)
	if c.Reading() {
		i.parts = uint16(parts)
	}
	codec.Enum(c, &i.kind, kind.ItemKinds)
	id := uint64(0)
	if i.exchange != nil {
		id = i.exchange.id
	}
	if i.kind == kind.ItemRequest || i.kind == kind.ItemEnd {
		c.Number(&id)
		if i.exchange == nil {
			i.exchange = &Exchange{id: id}
		}
	}
}

// The functions below fix the saved part of a process or a member at one point in time, with little work. The fixed
// copy can be encoded while changes go on: payloads, replies and inbox items are shared, not copied.

// Freeze returns a copy of the present process, without its members. The copy is for Save only, which may run beside
// the process's commands. The work grows with the number of exchanges, but not with their content.
func (p *Process) Freeze() *Process {
	f := *p
	f.members = nil
	f.results, f.audit = slices.Clone(p.results), slices.Clone(p.audit)
	f.exchanges = make([]*Exchange, len(p.exchanges))
	list := make([]Exchange, len(p.exchanges))
	for k, e := range p.exchanges {
		list[k] = *e
		list[k].waiting = slices.Clone(e.waiting)
		f.exchanges[k] = &list[k]
	}
	return &f
}

// Freeze returns a copy of the present member. The copy is for Save only, which may run beside the process's commands.
// Freeze itself must not run beside commands, because the member records that its items are shared.
func (m *Member) Freeze() *Member {
	m.shared = true
	f := *m
	f.items = m.items[:len(m.items):len(m.items)]
	return &f
}
