package ydb

import (
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// How long an SDK may rely on its session, and how long the session must therefore last: see DESIGN.md.
const (
	// keepAlive is how long ydb-go-sdk waits for a server message before the SDK considers the stream dead.
	keepAlive = 10 * time.Second
	// slack is by how much, at the least, a session lasts longer than an SDK may rely on the session; for long
	// sessions the slack is a fifth.
	slack = 5 * time.Second
	// maxAsked is the longest timeout whose reliance and slack fit into the 30 minutes allowed for a session.
	maxAsked = 25 * time.Minute

	minPingPeriod = 10 * time.Millisecond
	// maxPingPeriod leaves half a second: the Python SDK gives a stream up after a little less than 3 s without a
	// message, whatever the SDK's timeout.
	maxPingPeriod = 2 * time.Second
	// maxPongTime is how long a client may take to answer a ping.
	maxPongTime = 5 * time.Second
	// maxStall is for how long a client may read nothing though messages wait for the client.
	maxStall = 10 * time.Second
	// maxHeld is how long a stalled client's connection is left open after maxStall.
	maxHeld = time.Minute
)

// timing is slowed down by tests for slow machines.
type timing struct {
	slack     time.Duration
	leastPing time.Duration // between two pings
	unheeded  int           // how many pings in a row may have no answer when the next is due
	stall     time.Duration // for how long a client may leave waiting messages unread
}

var asYDB = timing{slack: slack, leastPing: minPingPeriod, stall: maxStall}

// relianceOf returns how long an SDK with a requested timeout may rely on its session after a message.
func relianceOf(asked time.Duration) time.Duration { return max(asked, keepAlive) }

// timeoutOf returns a session's timeout at its host.
func (t *timing) timeoutOf(reliance time.Duration) time.Duration {
	return reliance + max(t.slack, reliance/5)
}

// pingTiming is when a stream is pinged, and over.
type pingTiming struct {
	period   time.Duration // from ping to ping
	unheeded int           // how many pings in a row may have no answer when the next is due
	stalls   int           // how many periods in a row may pass without sending a waiting message
}

// pingsOf returns a stream's ping timing for a requested timeout.
func (t *timing) pingsOf(asked time.Duration) pingTiming {
	answer := min(max(asked/3, t.leastPing), maxPongTime)
	period := min(answer, maxPingPeriod)
	return pingTiming{
		period: period, unheeded: max(int((answer+period-1)/period)-1, t.unheeded), stalls: int(t.stall / period),
	}
}

// pings are a stream's pings to its client, as YDB sends them.
type pings struct {
	timing pingTiming

	mu      sync.Mutex // guards the next fields
	timer   *time.Timer
	opaque  uint64 // of the latest
	queued  bool   // the latest was not sent yet
	waiting int    // how many pings in a row have no answer
	sent    uint64 // stream's messages when the latest ping was due
	stalls  int    // how many periods in a row have passed without a sent message
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

// wasSent records that the client may have the latest ping.
func (p *pings) wasSent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued = false
}

// next counts a due ping. next returns the ping's number, 0 for no ping, or the reason why the stream is over.
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

// ping sends a ping, or ends the stream if earlier pings were not answered, or cannot be sent.
func (s *stream) ping() {
	opaque, silent, stalled := s.pings.next(s.outbox.sent.Load())
	switch {
	case stalled:
		s.stalled()
		return
	case silent && s.paused():
		// The answer may be among the messages not read at the moment.
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

// answered notes the answer to a ping; the answer to an earlier ping is no news. answered returns false for an
// unknown ping.
func (p *pings) answered(opaque uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if opaque > p.opaque {
		return false
	}
	p.waiting = min(p.waiting, int(p.opaque-opaque))
	return true
}

// pinged answers a client's ping. The Python SDK answers a ping with a ping that has the same number, and other clients
// number their own pings. So every ping gets a pong, and counts as an answer.
func (s *stream) pinged(opaque uint64) {
	s.pings.answered(opaque)
	s.send(&response{Response: &Ydb_Coordination.SessionResponse_Pong{
		Pong: &Ydb_Coordination.SessionResponse_PingPong{Opaque: opaque},
	}})
}
