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
	// maxPingPeriod leaves half a second: the Python SDK gives a stream up that has brought it nothing for 3 s less a
	// little, whatever its timeout.
	maxPingPeriod = 2 * time.Second
	// maxPongTime is how long a client may take to answer a ping.
	maxPongTime = 5 * time.Second
	// maxStall is for how long a client may read nothing though something waits for it.
	maxStall = 10 * time.Second
	// maxHeld is how long the connection of such a client is left open after that.
	maxHeld = time.Minute
)

// timing is what tests make slower, for machines that are.
type timing struct {
	slack     time.Duration
	leastPing time.Duration // between two pings
	unheeded  int           // how many pings in a row may have no answer when the next is due
	stall     time.Duration // for how long a client may read nothing though something waits for it
}

var asYDB = timing{slack: slack, leastPing: minPingPeriod, stall: maxStall}

// relianceOf returns for how long an SDK that asked for a timeout may rely on its session after it has got a message.
func relianceOf(asked time.Duration) time.Duration { return max(asked, keepAlive) }

// timeoutOf returns the timeout that a session has at its host.
func (t *timing) timeoutOf(reliance time.Duration) time.Duration {
	return reliance + max(t.slack, reliance/5)
}

// pingTiming is when a stream is pinged, and over.
type pingTiming struct {
	period   time.Duration // from ping to ping
	unheeded int           // how many pings in a row may have no answer when the next is due
	stalls   int           // how many periods in a row may pass without a message sent that waits
}

// pingsOf returns when a stream is pinged that has asked for a timeout.
func (t *timing) pingsOf(asked time.Duration) pingTiming {
	answer := min(max(asked/3, t.leastPing), maxPongTime)
	period := min(answer, maxPingPeriod)
	return pingTiming{
		period: period, unheeded: max(int((answer+period-1)/period)-1, t.unheeded), stalls: int(t.stall / period),
	}
}

// pings are those of one stream to its client, as YDB sends them.
type pings struct {
	timing pingTiming

	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	opaque  uint64 // of the latest
	queued  bool   // the latest was not sent yet
	waiting int    // how many pings in a row have no answer
	sent    uint64 // messages of the stream when the latest was due
	stalls  int    // how many periods in a row have passed without one
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

// wasSent notes that the client may have the latest ping.
func (p *pings) wasSent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued = false
}

// next counts a ping that is due. It returns its number, 0 for none, and why the stream is over instead.
func (p *pings) next(sent uint64) (opaque uint64, silent, stalled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.stopped:
		return 0, false, false
	case p.queued && p.sent == sent:
		p.stalls++
	case p.queued:
		p.stalls = 0
	case p.waiting > p.timing.unheeded:
		return 0, true, false
	default:
		p.stalls = 0
		p.opaque++
		p.waiting++
		p.queued, opaque = true, p.opaque
	}
	p.sent = sent
	return opaque, false, p.stalls > p.timing.stalls
}

// again has the next ping sent in time.
func (p *pings) again(ping func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.stopped:
	case p.timer == nil:
		p.timer = time.AfterFunc(p.timing.period, ping)
	default:
		p.timer.Reset(p.timing.period)
	}
}

// ping sends a ping, or ends the stream where those before were not answered, or cannot be sent.
func (s *stream) ping() {
	opaque, silent, stalled := s.pings.next(s.outbox.sent.Load())
	switch {
	case stalled:
		s.stalled()
		return
	case silent && s.paused():
		// The answer may be in what is not read at the moment.
	case silent:
		s.end(ending{failure: failureOf(&failed{Ydb.StatusIds_TIMEOUT, "a ping was not answered"}).GetFailure()})
		return
	case opaque != 0:
		s.send(&response{Response: &Ydb_Coordination.SessionResponse_Ping{
			Ping: &Ydb_Coordination.SessionResponse_PingPong{Opaque: opaque},
		}})
	}
	s.pings.again(s.ping)
}

// answered notes the answer to a ping; one to an earlier ping says nothing new. It returns false where there was no
// such ping.
func (p *pings) answered(opaque uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if opaque > p.opaque {
		return false
	}
	p.waiting = min(p.waiting, int(p.opaque-opaque))
	return true
}

// ponged takes a pong.
func (s *stream) ponged(opaque uint64) error {
	if !s.pings.answered(opaque) {
		return &failed{Ydb.StatusIds_BAD_REQUEST, "a pong to no ping"}
	}
	return nil
}

// pinged answers a ping of the client. The Python SDK answers a ping with one of the same number, and others number
// their pings by themselves: so each has its pong, and counts as one.
func (s *stream) pinged(opaque uint64) {
	s.pings.answered(opaque)
	s.send(&response{Response: &Ydb_Coordination.SessionResponse_Pong{
		Pong: &Ydb_Coordination.SessionResponse_PingPong{Opaque: opaque},
	}})
}
