package conn

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client/internal/scope"
	"github.com/signalbox/signalbox/protocol"
)

// maxSilence is the longest time between two pings, whatever sessions and hosts ask for.
const maxSilence = 5 * time.Second

var errSilent = errors.New("the host did not answer a ping")

// pinger keeps a connection, and all sessions that are attached over it, alive, and brings the connection down when an
// answer is too long in coming.
//
// A ping serves all sessions, and pings go out every third of the smallest timeout. An answered ping renews the leases
// from the moment at which the ping was sent. The connection's lock guards the fields, except for vouched.
type pinger struct {
	conn    *Conn
	vouched atomic.Int64 // the scope.Instant at which the latest answered ping was sent

	idle     time.Duration // the interval if no session asks for a shorter one
	timeouts map[time.Duration]int
	smallest time.Duration // of the timeouts; 0 for none
	pace     time.Duration // from ping to ping at the most, if it is asked for; 0 for none
	timer    *time.Timer
	sent     scope.Instant // when the latest ping was sent, or HELLO, which counts as a ping
	waiting  bool          // for the answer
	stopped  bool
}

func (p *pinger) start(c *Conn) {
	w := &c.welcome
	p.conn = c
	p.idle = maxSilence
	if w.pingInterval > 0 && w.pingInterval < p.idle {
		p.idle = w.pingInterval
	}
	p.timeouts = make(map[time.Duration]int)
	p.sent = w.helloSent
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.stopped {
		p.timer = time.AfterFunc(p.idle, p.ping)
	}
}

func (p *pinger) stop() {
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// AddTimeout makes pings frequent enough for a session with the timeout.
func (c *Conn) AddTimeout(timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.pinger
	p.timeouts[timeout]++
	if p.smallest == 0 || timeout < p.smallest {
		p.smallest = timeout
		p.arm()
	}
}

// PingEvery makes pings as frequent as the pace, whatever the timeouts ask for. The time that the host may take to
// answer a ping stays as it is.
func (c *Conn) PingEvery(pace time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := &c.pinger; p.pace == 0 || pace < p.pace {
		p.pace = pace
		p.arm()
	}
}

// RemoveTimeout undoes AddTimeout.
func (c *Conn) RemoveTimeout(timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.pinger
	if p.timeouts[timeout]--; p.timeouts[timeout] > 0 {
		return
	}
	delete(p.timeouts, timeout)
	p.smallest = 0
	for t := range p.timeouts {
		if p.smallest == 0 || t < p.smallest {
			p.smallest = t
		}
	}
}

// interval is the time from ping to ping without a pace. The connection's lock is held, here and below.
func (p *pinger) interval() time.Duration {
	if p.smallest > 0 && p.smallest/3 < p.idle {
		return max(p.smallest/3, time.Millisecond)
	}
	return p.idle
}

// due is when there is something to do next. An answer may take three quarters of the interval: a third and a quarter
// of a timeout leave enough of a lease to attach elsewhere.
func (p *pinger) due() scope.Instant {
	if p.waiting {
		return p.sent.Add(p.interval() * 3 / 4)
	}
	if p.pace > 0 {
		return p.sent.Add(min(p.pace, p.interval()))
	}
	return p.sent.Add(p.interval())
}

func (p *pinger) arm() {
	if !p.stopped {
		p.timer.Reset(max(p.due().Sub(p.conn.dialer.config.Scope.Now()), 0))
	}
}

// ping sends a ping when the next ping is due, or brings the connection down when the answer to the latest is overdue.
func (p *pinger) ping() {
	c := p.conn
	c.mu.Lock()
	if now := c.dialer.config.Scope.Now(); !p.stopped && now >= p.due() {
		if p.waiting {
			c.mu.Unlock()
			c.Fail(errSilent)
			return
		}
		if _, err := c.post(&pong{pinger: p, sent: now}, &protocol.Ping{}); err == nil {
			p.sent, p.waiting = now, true
			c.wakeWriter()
		}
	}
	p.arm()
	c.mu.Unlock()
}

// pong waits for the answer to one ping.
type pong struct {
	pinger *pinger
	sent   scope.Instant
}

// Answered implements Handler.
func (po *pong) Answered(from *Conn, a *protocol.Answer) {
	if a.Result.Status != protocol.StatusSuccess {
		return // the ping vouches for no session; if all pings fail so, the connection is brought down
	}
	p := po.pinger
	p.vouched.Store(int64(po.sent))
	from.mu.Lock()
	p.waiting = false
	if p.pace > 0 {
		p.arm() // else the timer fires early enough anyway
	}
	from.mu.Unlock()
}

// Lost implements Handler.
func (po *pong) Lost(*Conn, error) {}
