package lease

import (
	"iter"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// state is a session's state in its leader's records.
type state uint8

const (
	// detached: the session has no holder and is alive until its timer fires.
	detached state = iota
	// attached: the session has a holder, and is alive while the holder is heard.
	attached
	// expiring: the session's end is proposed and the outcome is awaited.
	expiring
	// doubtful: the session's end was proposed and the outcome is unknown; the end will be proposed again.
	doubtful
)

// nextStates lists the allowed transitions from every state. A new session is detached.
var nextStates = [...][4]bool{
	detached: {detached: true, attached: true, expiring: true},
	attached: {detached: true, attached: true, expiring: true},
	expiring: {detached: true, doubtful: true},
	doubtful: {expiring: true},
}

// become changes a session's state.
func (t *Table) become(s *session, next state) {
	t.assert(nextStates[s.state][next], "a session whose end is proposed is neither attached nor proposed again")
	t.assert(!s.doubt || next == expiring || next == doubtful, "a session that may end at any time is not taken back")
	s.state = next
}

// session is a table's record for one session. The field order avoids padding.
type session struct {
	id   shard.SessionID
	node shard.NodeID
	seq  uint64 // of the latest attach since this leader began
	// since is the time at which the session counts as heard, even if its holder was silent. since never decreases.
	// After a leader change it lies in the future, by the grace period; a stall advances it by the stall's duration.
	since instant
	// at is when to check the session next, while the session is in the table's timers: never after its deadline, but
	// possibly before. Only after a failed expiry, at is RetryAfter later.
	at     instant
	group  groupNumber // the holder's group, while the session is attached
	handle handle      // of this record
	// millis is the timeout; 0 ends the session when its connection closes.
	millis uint32
	place  uint32 // index in the group, or in the timers
	// left is how long the session stays alive while detached, if the client asked for less than the timeout;
	// otherwise 0.
	left  uint32
	state state
	// doubt reports that a proposal to end the session has an unknown outcome. The session may end at any time, so
	// this leader never lets it be attached again.
	doubt bool
}

func (s *session) timeout() time.Duration { return time.Duration(s.millis) * time.Millisecond }

// deadline returns when a session is due if no holder hears the client after since.
func (s *session) deadline() instant {
	if s.left != 0 && s.left < s.millis {
		return s.since.plus(time.Duration(s.left) * time.Millisecond)
	}
	return s.since.plus(s.timeout())
}

// silentAt returns when an attached session is due, if its holder is not heard after heard. Timeout 0 only ends the
// session when the connection closes, and sets no limit on silence.
func (s *session) silentAt(heard instant) instant {
	if s.millis == 0 {
		return never
	}
	return max(heard, s.since).plus(s.timeout())
}

func millisOf(timeout time.Duration) uint32 {
	assert(timeout >= 0 && timeout <= maxTimeout, "a session's timeout is within its limits")
	return uint32((timeout + time.Millisecond - 1) / time.Millisecond)
}

// timerOrder orders sessions by when to check them.
type timerOrder struct{ *sessionStore }

func (o timerOrder) Before(a, b handle) bool { return o.record(a).at < o.record(b).at }

const chunkSize = 256

// handle is a record's index plus one; 0 means none. The table stores handles instead of pointers, so the garbage
// collector skips the records of a million sessions.
type handle uint32

// sessionStore finds sessions by id, and stores them contiguously in chunks that never move.
type sessionStore struct {
	byID   map[shard.SessionID]handle
	chunks []*[chunkSize]session
	used   handle       // records allocated so far
	slots  []shard.Slot // of each record; a scan for a slot reads two bytes per session
	free   []handle
}

func newSessionStore() sessionStore {
	return sessionStore{byID: make(map[shard.SessionID]handle)}
}

// reserve allocates capacity for the given number of sessions, in an empty store.
func (st *sessionStore) reserve(sessions int) {
	st.byID = make(map[shard.SessionID]handle, sessions)
	st.chunks = slices.Grow(st.chunks, sessions/chunkSize+1)
	st.slots = slices.Grow(st.slots, sessions)
}

// record returns the record for a nonzero handle.
func (st *sessionStore) record(h handle) *session {
	return &st.chunks[(h-1)/chunkSize][(h-1)%chunkSize]
}

// Placed implements heap.Order for the heaps of handles.
func (st *sessionStore) Placed(h handle, at int) { st.record(h).place = uint32(at) }

// find returns a session's record, nil for an unknown session.
func (st *sessionStore) find(id shard.SessionID) *session {
	if h := st.byID[id]; h != 0 {
		return st.record(h)
	}
	return nil
}

// add returns a new session's record.
func (st *sessionStore) add(id shard.SessionID) *session {
	var h handle
	if n := len(st.free); n > 0 {
		h, st.free = st.free[n-1], st.free[:n-1]
	} else {
		if int(st.used) == len(st.chunks)*chunkSize {
			st.chunks = append(st.chunks, new([chunkSize]session))
		}
		st.used++
		h = st.used
		st.slots = append(st.slots, noSlot)
	}
	s := st.record(h)
	s.id, s.handle = id, h
	st.slots[h-1] = id.Slot()
	st.byID[id] = h
	return s
}

// drop frees a record without references.
func (st *sessionStore) drop(s *session) {
	delete(st.byID, s.id)
	st.slots[s.handle-1] = noSlot
	st.free = append(st.free, s.handle)
	*s = session{}
}

// all yields every session in memory order.
func (st *sessionStore) all() iter.Seq[*session] {
	return func(yield func(*session) bool) {
		for h := range st.used {
			if s := st.record(h + 1); s.id != 0 && !yield(s) {
				return
			}
		}
	}
}
