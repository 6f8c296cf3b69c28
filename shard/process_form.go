package shard

import (
	"slices"

	"github.com/signalbox/signalbox/shard/process"
)

// This file has the forms of a process outside of the machine's memory.

func (pr *processes) save(dst []byte, body handle) []byte {
	p := pr.at(body)
	return p.Save(slices.Grow(dst, p.Size()))
}

func (pr *processes) freeze(body handle) frozen { return pr.at(body).Freeze().Save }

// frozenFrom is from how many things to handle on a member is frozen: fewer are encoded as fast.
const frozenFrom = 4

func (pr *processes) freezeLink(body handle) frozen {
	m := pr.members.at(body)
	if m.Unread() < frozenFrom {
		return nil
	}
	return m.Freeze().Save
}

func (pr *processes) load(src []byte) (handle, bool) {
	p, err := process.Load(src)
	if err != nil {
		return 0, false
	}
	h := pr.alloc()
	*pr.at(h) = hostedProcess{Process: p}
	return h, true
}

func (pr *processes) saveLink(dst []byte, body handle) []byte {
	return pr.members.at(body).Save(dst)
}

func (pr *processes) renew(body handle, n *renewal) ([]byte, bool) {
	return pr.at(body).Renewed(process.Renewal{
		Jump: n.jump, Revision: uint64(n.revision), Now: n.now, Later: n.later,
	}), true
}

func (pr *processes) loadLink(src []byte) (handle, bool) {
	h := pr.members.alloc()
	return h, pr.members.at(h).Load(src) == nil
}

// linked puts the members back into their process, and makes the tracks and the alarm again. A deleted process gets
// neither members nor an alarm, because only the links of its members are left to be removed.
func (pr *processes) linked(m *Machine, object handle) error {
	o := m.objects.at(object)
	p := pr.at(o.body)
	p.object = object
	switch {
	case o.pending && !o.deleting:
		return badSnapshot("process %q is pending", o.name)
	case p.WholeRevision() > uint64(o.revision):
		return badSnapshot("process %q is of revision %d, and has changed at %d", o.name, o.revision, p.WholeRevision())
	case p.Epoch() > uint64(m.lastOrder):
		return badSnapshot("process %q is in epoch %d, and the last order id is %d", o.name, p.Epoch(), m.lastOrder)
	}
	p.whole = restoredView(Revision(p.WholeRevision()))
	p.whole.head = Revision(p.HeadRevision())
	p.results = restoredView(Revision(p.ResultsRevision()))
	for h := m.links.byObject.first(o.links); h != 0; h = m.links.byObject.next(h) {
		l := m.links.at(h)
		if l.body == 0 || !l.owner {
			return badSnapshot("process %q: order id %d is no member", o.name, l.order)
		}
		member := pr.members.at(l.body)
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
	m.setAlarm(object, p.alarm)
	return nil
}

// state writes out the state of the store.
func (pr *processes) state(m *Machine, object handle, s *State) {
	p := pr.at(m.objects.at(object).body)
	s.Objects = append(s.Objects, m.objectState(object, p.Describe(), func(l *link) string {
		return pr.members.at(l.body).Describe()
	}))
}
