package replica

import (
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// longest is the session with the longest timeout of a home, as its leader reports it to the meta shard.
type longest struct {
	mu       sync.Mutex // guards the fields below
	session  shard.Longest
	lookedAt time.Time
}

// longestEvery is how often a leader looks at the timeouts of all sessions. A longer timeout counts at once.
const longestEvery = 10 * time.Second

// of returns the session. During the wait after a renewal the sessions of before count too.
func (l *longest) of(m *shard.Machine, now time.Time) shard.Longest {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lookedAt.IsZero() || now.Sub(l.lookedAt) >= longestEvery {
		l.lookedAt, l.session = now, m.Longest()
	}
	if g := m.Group(); g.Waits(m.Time()) {
		return l.session.Over(g.Longest)
	}
	return l.session
}

// granted notes the timeout of a session that was started or altered.
func (l *longest) granted(timeout uint64, id shard.SessionID) {
	if timeout <= shard.UnnotedTimeout {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session = l.session.Over(shard.Longest{Timeout: timeout, Session: id})
}
