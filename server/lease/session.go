package lease

import (
	"iter"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// state is the state of a session in its leader's records.
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

// nextStates are the states that may follow each state. A new session is detached.
var nextStates = [...][4]bool{
	detached: {detached: true, attached: true, expiring: true},
	attached: {detached: true, attached: true, expiring: true},
	expiring: {detached: true, doubtful: true},
	doubtful: {expiring: true},
}

// become gives a session another state.
func (t *Table) become(s *session, next state) {
	t.assert(nextStates[s.state][next], "a session whose end is proposed is neither attached nor proposed again")
	t.assert(!s.doubt || next == expiring || next == doubtful, "a session that may end at any time is not taken back")
	s.state = next
}

// session is a table's record of one session. The order of the fields wastes no room.
type session struct {
	id   shard.SessionID
	node shard.NodeID
	seq  uint64 // of the latest attach since this leader began
	// since: the session counts as heard at this moment, even if its holder was silent. It only grows. After a change
	// of leader since is in the future, by the grace period; a stall moves it on by the length of the stall.
	since instant
	// at is when to check the session next, while the session is in the table's timers: not after its deadline, but
	// perhaps before it. Only after a failed expiry at is RetryAfter later.
	at     instant
	group  groupNumber // of the holder's sessions, while the session is attached
	handle handle      // of the record
	// millis is the timeout; 0 ends the session with its connection.
	millis uint32
	place  uint32 // in the group, or in the timers
	// left is how long the session stays alive while it is detached, if the client asked for less than the timeout;
	// else 0.
	left  uint32
	state state
	// doubt: a proposal of the session's end has an unknown outcome. The session may end at any time, so it is never
	// attachable again under this leader.
	doubt bool
}

func (s *session) timeout() time.Duration { return time.Duration(s.millis) * time.Millisecond }

// deadline returns when a session is due if no holder hears of the client after since.
func (s *session) deadline() instant {
	if s.left != 0 && s.left < s.millis {
		return s.since.plus(time.Duration(s.left) * time.Millisecond)
	}
	return s.since.plus(s.timeout())
}

// silentAt returns when an attached session is due, if its holder is not heard after heard. A timeout of zero defines
// what happens when the connection goes, and sets no limit to silence.
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

// handle is the place of a record plus one; zero is none. The table keeps handles instead of pointers, so a collection
// of garbage passes over the records of a million sessions.
type handle uint32

// sessionStore finds sessions by id and keeps them side by side in chunks that never move.
type sessionStore struct {
	byID   map[shard.SessionID]handle
	chunks []*[chunkSize]session
	used   handle // records handed out so far
	free   []handle
}

func newSessionStore() sessionStore {
	return sessionStore{byID: make(map[shard.SessionID]handle)}
}

// reserve makes room for so many sessions, in a store without sessions.
func (st *sessionStore) reserve(sessions int) {
	st.byID = make(map[shard.SessionID]handle, sessions)
	st.chunks = slices.Grow(st.chunks, sessions/chunkSize+1)
}

// record returns the record of a handle other than zero.
func (st *sessionStore) record(h handle) *session {
	return &st.chunks[(h-1)/chunkSize][(h-1)%chunkSize]
}

// Placed implements heap.Order for the heaps of handles.
func (st *sessionStore) Placed(h handle, at int) { st.record(h).place = uint32(at) }

// find returns the record of a session, nil for an unknown session.
func (st *sessionStore) find(id shard.SessionID) *session {
	if h := st.byID[id]; h != 0 {
		return st.record(h)
	}
	return nil
}

// add returns the record of a new session.
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
	}
	s := st.record(h)
	s.id, s.handle = id, h
	st.byID[id] = h
	return s
}

// drop takes back a record without references.
func (st *sessionStore) drop(s *session) {
	delete(st.byID, s.id)
	st.free = append(st.free, s.handle)
	*s = session{}
}

// all yields every session, in the order of memory.
func (st *sessionStore) all() iter.Seq[*session] {
	return func(yield func(*session) bool) {
		for h := range st.used {
			if s := st.record(h + 1); s.id != 0 && !yield(s) {
				return
			}
		}
	}
}
