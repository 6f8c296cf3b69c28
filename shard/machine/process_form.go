package machine

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/process"
)

// This file has the forms of a process outside of the machine's memory.

func (pr *processes) save(dst []byte, body arena.Handle) []byte {
	p := pr.At(body)
	return p.Save(slices.Grow(dst, p.Size()))
}

func (pr *processes) freeze(body arena.Handle) frozen { return pr.At(body).Freeze().Save }

// frozenFrom is from how many things to handle on a member is frozen: fewer are encoded as fast.
const frozenFrom = 4

func (pr *processes) freezeLink(body arena.Handle) frozen {
	m := pr.members.At(body)
	if m.Unread() < frozenFrom {
		return nil
	}
	return m.Freeze().Save
}

func (pr *processes) load(src []byte) (arena.Handle, bool) {
	p, err := process.Load(src)
	if err != nil {
		return 0, false
	}
	h := pr.Alloc()
	*pr.At(h) = hostedProcess{Process: p}
	return h, true
}

func (pr *processes) saveLink(dst []byte, body arena.Handle) []byte {
	return pr.members.At(body).Save(dst)
}

func (pr *processes) renew(body arena.Handle, n *renewal) ([]byte, bool) {
	return pr.At(body).Renewed(process.Renewal{
		Jump: n.jump, Revision: uint64(n.revision), Now: n.now, Later: n.later,
	}), true
}

func (pr *processes) loadLink(src []byte) (arena.Handle, bool) {
	h := pr.members.Alloc()
	return h, pr.members.At(h).Load(src) == nil
}

// linked puts the members back into their process, and makes the tracks and the alarm again. A deleted process gets
// neither members nor an alarm, because only the links of its members are left to be removed.
func (pr *processes) linked(m *Core, object arena.Handle) error {
	o := m.Objects.At(object)
	p := pr.At(o.body)
	p.object = object
	switch {
	case o.pending && !o.deleting:
		return badSnapshot("process %q is pending", o.name)
	case p.WholeRevision() > uint64(o.revision):
		return badSnapshot("process %q is of revision %d, and has changed at %d", o.name, o.revision, p.WholeRevision())
	case p.Epoch() > uint64(m.lastOrder):
		return badSnapshot("process %q is in epoch %d, and the last order id is %d", o.name, p.Epoch(), m.lastOrder)
	}
	p.whole = restoredView(shard.Revision(p.WholeRevision()))
	p.whole.head = shard.Revision(p.HeadRevision())
	p.results = restoredView(shard.Revision(p.ResultsRevision()))
	for h := m.Holdings.byObject.First(o.links); h != 0; h = m.Holdings.byObject.Next(h) {
		l := m.Holdings.At(h)
		if l.body == 0 || !l.owner {
			return badSnapshot("process %q: order id %d is no member", o.name, l.order)
		}
		member := pr.members.At(l.body)
		member.ID, member.Ref, member.of = uint64(l.order), uint64(h), o.body
		if o.deleting {
			continue
		}
		if err := p.Attach(&member.Member); err != nil {
			return badSnapshot("process %q: %v", o.name, err)
		}
	}
	if o.deleting {
		return nil
	}
	if err := p.Attached(); err != nil {
		return badSnapshot("process %q: %v", o.name, err)
	}
	p.alarm, _ = p.NextDue()
	m.Objects.SetAlarm(object, p.alarm)
	return nil
}

// state writes out the state of the store.
func (pr *processes) state(m *Core, object arena.Handle, s *shard.State) {
	p := pr.At(m.Objects.At(object).body)
	s.Objects = append(s.Objects, m.Objects.State(object, p.Describe(), func(l *link) string {
		return pr.members.At(l.body).Describe()
	}))
}
