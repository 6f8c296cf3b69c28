package machine

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/slots"
)

// Slot returns a slot's record in the shard. A sealed or transferred slot's Content never changes.
func (m *Machine) Slot(slot shard.Slot) slots.Slot {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.slots.Of(slot)
}

// Owns reports whether the shard owns a slot, and returns the change count. If two calls return equal results, all
// reads between these calls found the slot's content complete.
func (m *Machine) Owns(slot shard.Slot) (owned bool, changes uint64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.slots.Has(slot), m.core.slots.Changes()
}

// Owns reports whether the shard owns a name's slot. The caller has the lock.
func (co *Core) Owns(n shard.NodeID, name []byte) bool { return co.slots.Has(shard.SlotOf(n, name)) }

// Slots returns the slots that the shard owns, and the change count.
func (m *Machine) Slots() (owned shard.SlotSet, changes uint64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.slots.Owned(), m.core.slots.Changes()
}

// ChangedSlots appends the records of all slots that a slot command has changed, in slot order.
func (m *Machine) ChangedSlots(dst []slots.Slot) []slots.Slot {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return append(dst, m.core.slots.Changed()...)
}

// AwaySlots appends the records of the sealed and the transferred slots, in slot order.
func (m *Machine) AwaySlots(dst []slots.Slot) []slots.Slot {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, x := range m.core.slots.Changed() {
		if x.Content != nil {
			dst = append(dst, x)
		}
	}
	return dst
}

// Idle reports whether the shard has nothing to keep: no slot, no slot snapshot, no session and no pending work. The
// replicas of a leaving shard are deleted only after the shard is idle.
func (m *Machine) Idle() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	owned := m.core.slots.Owned()
	return owned.Len() == 0 && m.core.Sessions.Size() == 0 && len(m.core.Pending.list) == 0 &&
		!slices.ContainsFunc(m.core.slots.Changed(), func(x slots.Slot) bool { return x.Content != nil })
}

// SessionsAt appends the sessions at home in a slot, in no particular order, without details and client. After a slot
// has arrived, a leader restores the leases of these sessions.
func (m *Machine) SessionsAt(slot shard.Slot, dst []shard.SessionView) []shard.SessionView {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, h := range m.core.Sessions.slots[slot].Handles(nil) {
		if s := m.core.Sessions.At(h); s.home && !s.ending {
			dst = append(dst, m.core.Sessions.view(s))
		}
	}
	return dst
}

// Route decides where a request for a slot is served, as far as this replica has applied the log.
func (m *Machine) Route(r slots.Request) (slots.Way, slots.Owner) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.slots.Route(r)
}
