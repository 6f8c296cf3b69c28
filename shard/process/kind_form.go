package process

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// This file encodes a process for snapshots and for plain State.

func (pr *processes) Save(dst []byte, body arena.Handle) []byte {
	p := pr.At(body)
	return p.Save(slices.Grow(dst, p.Size()))
}

func (pr *processes) Freeze(body arena.Handle) machine.Frozen { return pr.At(body).Freeze().Save }

// frozenFrom is the item count from which a member is frozen: fewer items are encoded just as fast.
const frozenFrom = 4

func (pr *processes) FreezeHolding(body arena.Handle) machine.Frozen {
	m := pr.members.At(body)
	if m.Unread() < frozenFrom {
		return nil
	}
	return m.Freeze().Save
}

func (pr *processes) Load(src []byte) (arena.Handle, bool) {
	p, err := Load(src)
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

func (pr *processes) Shift(body arena.Handle, moment func(uint64) uint64) { pr.At(body).move(moment) }

func (pr *processes) ShiftHolding(body arena.Handle, moment func(uint64) uint64) {
	m := pr.members.At(body)
	m.Joined = moment(m.Joined)
}

func (pr *processes) Renew(body arena.Handle, n *machine.StateRenewal) ([]byte, bool) {
	return pr.At(body).Renewed(Renewal{
		Jump: n.Jump, Revision: uint64(n.Revision), Now: n.Now, Later: n.Later,
	}), true
}

func (pr *processes) LoadHolding(src []byte) (arena.Handle, bool) {
	h := pr.members.Alloc()
	return h, pr.members.At(h).Load(src) == nil
}

// Linked puts the members back into their process, and rebuilds the tracks and the alarm. A deleted process gets
// neither members nor an alarm, because only its members' holdings are left to be removed.
func (pr *processes) Linked(co *machine.Core, object arena.Handle) error {
	o := co.Objects.At(object)
	p := pr.At(o.State)
	p.object = object
	switch {
	case o.Pending && !o.Deleting:
		return machine.BadSnapshot("process %q is pending", co.Objects.Name(o))
	case p.WholeRevision() > uint64(o.Revision):
		return machine.BadSnapshot("process %q is of revision %d, and has changed at %d", co.Objects.Name(o),
			o.Revision, p.WholeRevision())
	case p.Epoch() > uint64(co.Holdings.LastOrder()):
		return machine.BadSnapshot("process %q is in epoch %d, and the last order id is %d", co.Objects.Name(o),
			p.Epoch(), co.Holdings.LastOrder())
	}
	p.whole = machine.RestoredView(shard.Revision(p.WholeRevision()))
	p.whole.Head = shard.Revision(p.HeadRevision())
	p.results = machine.RestoredView(shard.Revision(p.ResultsRevision()))
	for h := co.Holdings.First(o); h != 0; h = co.Holdings.Next(h) {
		l := co.Holdings.At(h)
		if l.State == 0 || !l.Owner {
			return machine.BadSnapshot("process %q: order id %d is no member", co.Objects.Name(o), l.Order)
		}
		member := pr.members.At(l.State)
		member.ID, member.Ref, member.of = uint64(l.Order), uint64(h), o.State
		if o.Deleting {
			continue
		}
		if err := p.Attach(&member.Member); err != nil {
			return machine.BadSnapshot("process %q: %v", co.Objects.Name(o), err)
		}
	}
	if o.Deleting {
		return nil
	}
	if err := p.Attached(); err != nil {
		return machine.BadSnapshot("process %q: %v", co.Objects.Name(o), err)
	}
	p.alarm, _ = p.NextDue()
	co.Objects.SetAlarm(object, p.alarm)
	return nil
}

// AppendState appends the process with all its members in plain form.
func (pr *processes) AppendState(co *machine.Core, object arena.Handle, s *shard.State) {
	p := pr.At(co.Objects.At(object).State)
	s.Objects = append(s.Objects, co.Objects.State(object, p.Describe(), func(l *machine.Holding) string {
		return pr.members.At(l.State).Describe()
	}))
}
