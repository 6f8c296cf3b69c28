package ydb

import (
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// How long an SDK may rely on its session, and what the session has to last for that: see DESIGN.md.
const (
	// keepAlive is how long ydb-go-sdk waits for any message of a server before it calls the stream dead.
	keepAlive = 10 * time.Second
	// slack is by how much a session lasts longer than an SDK may believe at the least; for long ones it is a fifth.
	slack = 5 * time.Second
	// maxAsked is the longest timeout of which reliance and slack fit into the 30 minutes that a session may have.
	maxAsked = 25 * time.Minute

	minPingPeriod = 10 * time.Millisecond
	maxPingPeriod = 5 * time.Second
)

// timing is what tests make slower, for machines that are.
type timing struct {
	slack     time.Duration
	leastPing time.Duration // between two pings
	unheeded  int           // how many pings in a row may have no answer when the next is due
}

var asYDB = timing{slack: slack, leastPing: minPingPeriod}

// relianceOf returns for how long an SDK that asked for a timeout may rely on its session after it has got a message.
func relianceOf(asked time.Duration) time.Duration { return max(asked, keepAlive) }

// timeoutOf returns the timeout that a session has at its host.
func (t *timing) timeoutOf(reliance time.Duration) time.Duration {
	return reliance + max(t.slack, reliance/5)
}

// periodOf returns the time from ping to ping.
func (t *timing) periodOf(asked time.Duration) time.Duration {
	return min(max(asked/3, t.leastPing), maxPingPeriod)
}

// pings are those of one stream to its client, as YDB sends them.
type pings struct {
	period time.Duration

	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	opaque  uint64
	waiting int // how many pings in a row have no answer
	stopped bool
}

func (p *pings) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// ping sends a ping, or ends the stream where the one before was not answered.
func (s *stream) ping() {
	p := &s.pings
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.stopped:
		return
	case p.waiting > s.gateway.timing.unheeded:
		s.end(ending{failure: failureOf(&failed{Ydb.StatusIds_TIMEOUT, "a ping was not answered"}).GetFailure()})
		return
	}
	p.opaque++
	p.waiting++
	s.send(&response{Response: &Ydb_Coordination.SessionResponse_Ping{
		Ping: &Ydb_Coordination.SessionResponse_PingPong{Opaque: p.opaque},
	}})
	if p.timer == nil {
		p.timer = time.AfterFunc(p.period, s.ping)
	} else {
		p.timer.Reset(p.period)
	}
}

// ponged takes the answer to a ping.
func (s *stream) ponged(opaque uint64) error {
	p := &s.pings
	p.mu.Lock()
	defer p.mu.Unlock()
	if opaque > p.opaque || opaque+uint64(p.waiting) <= p.opaque {
		return &failed{Ydb.StatusIds_BAD_REQUEST, "a pong to no ping"}
	}
	p.waiting = int(p.opaque - opaque)
	return nil
}
