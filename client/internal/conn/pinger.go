package conn

import (
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/protocol"
)

// maxSilence is the longest time between two pings, whatever sessions and hosts ask for.
const maxSilence = 5 * time.Second

const (
	// silence is how long a host may answer nothing while requests are open before it is sent a ping, and how long it
	// may take to answer that ping before the client makes sure that it hears of leaders from another host.
	silence = 500 * time.Millisecond
	// doubtPatience is how long a host may take to answer a ping if another host leads a shard that it led.
	doubtPatience = time.Second
	// resumeGrain is how often a connection with sessions looks whether the machine was suspended.
	resumeGrain = time.Second
)

var errSilent = errors.New("the host did not answer a ping")

// pinger keeps a connection, and all sessions that are attached over it, alive, and brings the connection down when an
// answer is too long in coming.
//
// A ping serves all sessions, and pings go out every third of the smallest timeout. An answered ping renews the leases
// from the moment at which the ping was sent. The connection's lock guards the fields, except for vouched.
type pinger struct {
	conn    *Conn
	vouched atomic.Int64 // the lifecycle.Instant at which the latest answered ping was sent

	idle     time.Duration // the interval if no session asks for a shorter one
	timeouts map[time.Duration]int
	smallest time.Duration // of the timeouts; 0 for none
	pace     time.Duration // from ping to ping at the most, if it is asked for; 0 for none
	timer    *time.Timer
	sent     lifecycle.Instant // when the latest ping was sent, or HELLO, which counts as a ping
	waiting  bool              // for the answer
	doubted  bool              // since the latest answer another host has become the leader of a shard
	stopped  bool

	lookAt  lifecycle.Instant // when to look whether the host is silent; 0 while no request is open
	answers uint64            // of the connection, at the latest look

	suspended time.Duration // of the scope, at the latest run
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
	p.suspended = c.dialer.config.Scope.Suspended()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.stopped {
		p.timer = time.AfterFunc(p.idle, p.run)
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

// due is when the next ping is due, or when the answer to the latest ping is overdue. An answer may take three quarters
// of the interval: a third and a quarter of a timeout leave enough of a lease to attach elsewhere.
func (p *pinger) due() lifecycle.Instant {
	patience := p.interval()
	switch {
	case p.waiting && p.doubted:
		patience = min(patience*3/4, doubtPatience)
	case p.waiting:
		patience = patience * 3 / 4
	case p.pace > 0:
		patience = min(patience, p.pace)
	}
	return p.sent.Add(patience)
}

func (p *pinger) arm() {
	if p.stopped {
		return
	}
	now, next := p.now(), p.due()
	if p.lookAt != 0 {
		next = min(next, p.lookAt)
	}
	if p.smallest > 0 {
		next = min(next, now.Add(resumeGrain))
	}
	p.timer.Reset(max(next.Sub(now), 0))
}

func (p *pinger) now() lifecycle.Instant { return p.conn.dialer.config.Scope.Now() }

// run does what is due: it sends a ping, brings the connection down because the answer to the latest ping is overdue,
// looks whether the host is silent, or has the sessions look at their deadlines after the machine was suspended.
func (p *pinger) run() {
	c := p.conn
	c.mu.Lock()
	var overdue, silent bool
	var resumed []Session
	if now := p.now(); !p.stopped {
		overdue = p.waiting && now >= p.due()
		if !p.waiting && now >= p.due() {
			p.ping(now)
		}
		if p.lookAt != 0 && now >= p.lookAt {
			silent = p.look(now)
		}
		if s := c.dialer.config.Scope.Suspended(); s > p.suspended {
			p.suspended, resumed = s, slices.Collect(maps.Values(c.sessions))
		}
		p.arm()
	}
	c.mu.Unlock()
	for _, s := range resumed {
		s.Resumed()
	}
	switch {
	case overdue:
		c.Fail(errSilent)
	case silent:
		c.owner.Silent(c)
	}
}

func (p *pinger) ping(now lifecycle.Instant) {
	c := p.conn
	if _, err := c.post(&pong{pinger: p, sent: now}, &protocol.Ping{}); err == nil {
		p.sent, p.waiting = now, true
		c.wakeWriter()
	}
}

// watch makes the pinger look at the host while requests are open. The look costs a request nothing while another one
// has begun it already.
func (p *pinger) watch() {
	if p.lookAt == 0 && p.timer != nil {
		p.lookAt, p.answers = p.now().Add(silence), p.conn.answers
		p.arm()
	}
}

// look sends a ping to a host that has answered nothing since the latest look though requests are open. It reports
// whether the host has not answered a ping either.
func (p *pinger) look(now lifecycle.Instant) (silent bool) {
	c := p.conn
	if c.open == 0 {
		p.lookAt = 0
		return false
	}
	if c.answers == p.answers {
		if silent = p.waiting; !silent {
			p.ping(now)
		}
	}
	p.lookAt, p.answers = now.Add(silence), c.answers
	return silent
}

// Doubt says that another host leads a shard that the host of the connection led. A host that does not answer a ping
// soon after that hangs, so the connection is brought down: requests that wait for it are sent to the new leader.
func (c *Conn) Doubt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.pinger
	if p.stopped || p.timer == nil {
		return
	}
	p.doubted = true
	if !p.waiting {
		p.ping(p.now())
	}
	p.arm()
}

// pong waits for the answer to one ping.
type pong struct {
	pinger *pinger
	sent   lifecycle.Instant
}

// Answered implements Handler.
func (po *pong) Answered(from *Conn, a *protocol.Answer) {
	if a.Result.Status != protocol.StatusSuccess {
		return // the ping vouches for no session; if all pings fail so, the connection is brought down
	}
	p := po.pinger
	p.vouched.Store(int64(po.sent))
	from.mu.Lock()
	p.waiting, p.doubted = false, false
	if p.pace > 0 {
		p.arm() // else the timer fires early enough anyway
	}
	from.mu.Unlock()
}

// Lost implements Handler.
func (po *pong) Lost(*Conn, error) {}
