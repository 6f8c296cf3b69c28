package lease

import (
	"iter"
	"math"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// A slot moves between shards with the sessions whose home it is. The shard's change count, in its replicated state,
// grows with every change to its slots. The server reports each change to the table, in log order.

// Basis names the term and the change count under which a table found sessions due. Both are in the command that
// ends the sessions. The command has an effect only in this term, and while the shard's change count is the same.
type Basis struct {
	Term, Changes uint64
}

// SlotLeft records that the shard no longer has a slot, because the slot's content was sealed or dropped. The table
// forgets the slot's sessions in any state. The caller notifies every client in the result before any later pong, and
// then calls Reported on each holder with the number of lost sessions.
func (t *Table) SlotLeft(slot shard.Slot, changes uint64) (lost []Lost) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes = max(t.changes, changes)
	at := make(map[*Holder]int)
	for s := range t.sessions.in(slot) {
		if h := t.lose(s); h != nil {
			i, known := at[h]
			if !known {
				i = len(lost)
				at[h], lost = i, append(lost, Lost{Holder: h})
			}
			lost[i].Sessions = append(lost[i].Sessions, s.id)
		}
		if s.state == expiring || s.state == doubtful {
			t.expiring--
		}
		t.sessions.drop(s)
	}
	return lost
}

// SlotArrived records that the shard has got a slot, or got a slot back, at a time read after the command was applied.
// Restore must then be called for the slot's sessions in the machine, before the next command is applied.
//
// If the walk after Lead came first, the table already knows sessions in the slot. Known sessions are treated like
// restored sessions: their grace period starts now, and no earlier proposal can end them.
func (t *Table) SlotArrived(slot shard.Slot, changes uint64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes = max(t.changes, changes)
	t.floor = max(t.floor, instantOf(now))
	if !t.leading {
		return
	}
	if t.arrivals == nil {
		t.arrivals = new([shard.Slots]uint64)
	}
	t.arrivals[slot] = changes
	for s := range t.sessions.in(slot) {
		s.since = max(s.since, t.floor.plus(t.grace(s.node)))
		if s.state != expiring && s.state != doubtful {
			continue // the timer fires early, and is then reset
		}
		t.unplace(s)
		t.expiring--
		s.state, s.doubt = detached, false
		t.setDetached(s, s.deadline())
	}
}

// SlotsChanged records a change of the shard's slots that neither took sessions away nor brought any.
func (t *Table) SlotsChanged(changes uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes = max(t.changes, changes)
}

// concerns reports whether a basis belongs to a session's current record. A basis from an earlier term, or from before
// the session's slot arrived, belongs to an earlier record, and the command has no effect.
func (t *Table) concerns(by Basis, id shard.SessionID) bool {
	return by.Term == t.term && (t.arrivals == nil || by.Changes >= t.arrivals[id.Slot()])
}

// noSlot marks a free record in sessionStore.slots.
const noSlot = shard.Slot(math.MaxUint16)

// in yields the sessions in a slot. A yielded session may be dropped.
func (st *sessionStore) in(slot shard.Slot) iter.Seq[*session] {
	return func(yield func(*session) bool) {
		for i, at := range st.slots {
			if at == slot && !yield(st.record(handle(i+1))) {
				return
			}
		}
	}
}
