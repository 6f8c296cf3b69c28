package backup

import (
	"errors"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
)

// Machines are the state machines for a new cluster.
type Machines struct {
	Meta *meta.Machine
	// Data are the data shards' machines, in routing order.
	Data []*machine.Machine
	// Objects is the number of objects. Left counts objects that are not taken over: ephemeral objects, objects with
	// a deletion in progress, and objects without a node.
	Objects, Left int
}

// Regenerate returns the machines for a new cluster. The states are not modified, except that each slot that has moved
// gets one owner. Missing shards start empty; their
// counters start above every number the lost shards may have assigned.
func (s *States) Regenerate(r meta.Regeneration) (*Machines, error) {
	counted, err := s.counted()
	if err != nil {
		return nil, err
	}
	if len(s.Data) == 0 {
		return nil, errors.New("no data shard has a surviving replica")
	}
	if err := s.completeSlots(); err != nil {
		return nil, err
	}
	next, err := s.Meta.Regenerate(r)
	if err != nil {
		return nil, err
	}
	m := &Machines{Meta: next}
	var old []*machine.Machine
	for _, id := range s.Shards() {
		old = append(old, s.Data[id])
		m.Left += int(s.Data[id].Usage(0).Objects)
	}
	keep := func(id shard.NodeID) bool {
		_, is := next.NodeByID(id)
		return is
	}
	m.Data, err = machine.Regenerate(old, machine.Regeneration{Slots: slotsOf(next.Routing()), Jump: r.Jump,
		Counted: counted, Keep: keep})
	if err != nil {
		return nil, err
	}
	for _, machine := range m.Data {
		m.Objects += int(machine.Usage(0).Objects)
	}
	m.Left -= m.Objects
	return m, nil
}

// slotsOf returns the slots every data shard serves, in routing order.
func slotsOf(routing meta.Routing) []shard.SlotSet {
	slots := make([]shard.SlotSet, len(routing.Shards))
	for _, g := range routing.Ranges {
		for i, id := range routing.Shards {
			if id == g.Shard {
				slots[i].Add(g.First, g.Last)
			}
		}
	}
	return slots
}

// NextHost returns the id for the first host in a new cluster.
func (s *States) NextHost() shard.HostID {
	last := shard.HostID(0)
	for _, h := range s.Meta.Hosts() {
		last = max(last, h.ID)
	}
	if t, bootstrapped := s.Meta.Topology(); bootstrapped {
		last = t.Records.LastHost()
	}
	return last + 1
}
