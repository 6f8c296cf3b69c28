package machine

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/process"
)

// This file has the forms of a process outside of the machine's memory.

func (pr *processes) Save(dst []byte, body arena.Handle) []byte {
	p := pr.At(body)
	return p.Save(slices.Grow(dst, p.Size()))
}

func (pr *processes) Freeze(body arena.Handle) Frozen { return pr.At(body).Freeze().Save }

// frozenFrom is from how many things to handle on a member is frozen: fewer are encoded as fast.
const frozenFrom = 4

func (pr *processes) FreezeHolding(body arena.Handle) Frozen {
	m := pr.members.At(body)
	if m.Unread() < frozenFrom {
		return nil
	}
	return m.Freeze().Save
}

func (pr *processes) Load(src []byte) (arena.Handle, bool) {
	p, err := process.Load(src)
	if err != nil {
		return 0, false
	}
	h := pr.Alloc()
	*pr.At(h) = hostedProcess{Process: p}
	return h, true
}

func (pr *processes) SaveHolding(dst []byte, body arena.Handle) []byte {
	return pr.members.At(body).Save(dst)
}

func (pr *processes) Renew(body arena.Handle, n *StateRenewal) ([]byte, bool) {
	return pr.At(body).Renewed(process.Renewal{
		Jump: n.Jump, Revision: uint64(n.Revision), Now: n.Now, Later: n.Later,
	}), true
}

func (pr *processes) LoadHolding(src []byte) (arena.Handle, bool) {
	h := pr.members.Alloc()
	return h, pr.members.At(h).Load(src) == nil
}

// Linked puts the members back into their process, and makes the tracks and the alarm again. A deleted process gets
// neither members nor an alarm, because only the links of its members are left to be removed.
func (pr *processes) Linked(m *Core, object arena.Handle) error {
	o := m.Objects.At(object)
	p := pr.At(o.State)
	p.object = object
	switch {
	case o.Pending && !o.Deleting:
		return BadSnapshot("process %q is pending", m.Objects.Name(o))
	case p.WholeRevision() > uint64(o.Revision):
		return BadSnapshot("process %q is of revision %d, and has changed at %d", m.Objects.Name(o), o.Revision,
			p.WholeRevision())
	case p.Epoch() > uint64(m.Holdings.LastOrder()):
		return BadSnapshot("process %q is in epoch %d, and the last order id is %d", m.Objects.Name(o), p.Epoch(),
			m.Holdings.LastOrder())
	}
	p.whole = RestoredView(shard.Revision(p.WholeRevision()))
	p.whole.Head = shard.Revision(p.HeadRevision())
	p.results = RestoredView(shard.Revision(p.ResultsRevision()))
	for h := m.Holdings.First(o); h != 0; h = m.Holdings.Next(h) {
		l := m.Holdings.At(h)
		if l.State == 0 || !l.Owner {
			return BadSnapshot("process %q: order id %d is no member", m.Objects.Name(o), l.Order)
		}
		member := pr.members.At(l.State)
		member.ID, member.Ref, member.of = uint64(l.Order), uint64(h), o.State
		if o.Deleting {
			continue
		}
		if err := p.Attach(&member.Member); err != nil {
			return BadSnapshot("process %q: %v", m.Objects.Name(o), err)
		}
	}
	if o.Deleting {
		return nil
	}
	if err := p.Attached(); err != nil {
		return BadSnapshot("process %q: %v", m.Objects.Name(o), err)
	}
	p.alarm, _ = p.NextDue()
	m.Objects.SetAlarm(object, p.alarm)
	return nil
}

// AppendState writes out the AppendState of the store.
func (pr *processes) AppendState(m *Core, object arena.Handle, s *shard.State) {
	p := pr.At(m.Objects.At(object).State)
	s.Objects = append(s.Objects, m.Objects.State(object, p.Describe(), func(l *Holding) string {
		return pr.members.At(l.State).Describe()
	}))
}
