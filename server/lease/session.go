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
	at    instant
	group *group // the holder's sessions, while the session is attached
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
type timerOrder struct{}

func (timerOrder) Before(a, b *session) bool { return a.at < b.at }
func (timerOrder) Placed(s *session, at int) { s.place = uint32(at) }

const chunkSize = 256

// sessionStore finds sessions by id and keeps them side by side in chunks that never move.
type sessionStore struct {
	byID   map[shard.SessionID]*session
	chunks []*[chunkSize]session
	used   int
	free   []*session
}

func newSessionStore() sessionStore {
	return sessionStore{byID: make(map[shard.SessionID]*session)}
}

// reserve makes room for so many sessions, in a store without sessions.
func (st *sessionStore) reserve(sessions int) {
	st.byID = make(map[shard.SessionID]*session, sessions)
	st.chunks = slices.Grow(st.chunks, sessions/chunkSize+1)
}

// add returns the record of a new session.
func (st *sessionStore) add(id shard.SessionID) *session {
	var s *session
	if n := len(st.free); n > 0 {
		s, st.free = st.free[n-1], st.free[:n-1]
	} else {
		if st.used == len(st.chunks)*chunkSize {
			st.chunks = append(st.chunks, new([chunkSize]session))
		}
		s = &st.chunks[st.used/chunkSize][st.used%chunkSize]
		st.used++
	}
	s.id = id
	st.byID[id] = s
	return s
}

// drop takes back a record without references.
func (st *sessionStore) drop(s *session) {
	delete(st.byID, s.id)
	*s = session{}
	st.free = append(st.free, s)
}

// all yields every session, in the order of memory.
func (st *sessionStore) all() iter.Seq[*session] {
	return func(yield func(*session) bool) {
		for i := range st.used {
			if s := &st.chunks[i/chunkSize][i%chunkSize]; s.id != 0 && !yield(s) {
				return
			}
		}
	}
}
