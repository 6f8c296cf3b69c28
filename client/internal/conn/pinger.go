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
	// silence is how long a host with open requests may send nothing before the client pings it. It is also how long
	// the ping's answer may take before the client asks another host about leaders.
	silence = 500 * time.Millisecond
	// doubtPatience is the ping timeout for a host that has lost a shard's leadership to another host.
	doubtPatience = time.Second
	// resumeGrain is how often a connection with sessions looks whether the machine was suspended.
	resumeGrain = time.Second
)

var errSilent = errors.New("the host did not answer a ping")

// pinger keeps a connection and its attached sessions alive, and closes the connection if an answer takes too long.
//
// A ping serves all sessions. Pings are sent every third of the smallest session timeout. An answered ping renews the
// leases, counted from when the ping was sent. The connection's lock guards all fields except vouched.
type pinger struct {
	conn    *Conn
	vouched atomic.Int64 // lifecycle.Instant at which the latest answered ping was sent

	idle     time.Duration // interval if no session needs a shorter one
	timeouts map[time.Duration]int
	smallest time.Duration // smallest session timeout; 0 if none
	pace     time.Duration // requested maximum ping interval; 0 if none
	timer    *time.Timer
	sent     lifecycle.Instant // when the latest ping or HELLO, which counts as a ping, was sent
	waiting  bool              // for the answer
	doubted  bool              // another host took over a shard since the latest answer
	stopped  bool

	lookAt  lifecycle.Instant // when to look whether the host is silent; 0 while no request is open
	answers uint64            // connection's count at the latest look

	suspended time.Duration // scope's value at the latest run
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

// PingEvery raises the ping rate to one ping per pace, regardless of session timeouts. The ping timeout does not
// change.
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

// interval is the ping interval if PingEvery has set no pace. The connection's lock is held, here and below.
func (p *pinger) interval() time.Duration {
	if p.smallest > 0 && p.smallest/3 < p.idle {
		return max(p.smallest/3, time.Millisecond)
	}
	return p.idle
}

// due returns when the next ping is due, or when the latest ping's answer is overdue. An answer may take three quarters
// of the interval: a third and a quarter of a timeout leave enough lease time to attach elsewhere.
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

// run does what is due: it sends a ping, closes the connection because the latest ping's answer is overdue, checks for
// a silent host, or makes sessions check their deadlines after the machine was suspended.
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

// watch schedules a check for silence while requests are open. It costs nothing if a check is already scheduled.
func (p *pinger) watch() {
	if p.lookAt == 0 && p.timer != nil {
		p.lookAt, p.answers = p.now().Add(silence), p.conn.answers
		p.arm()
	}
}

// look pings a host that has sent nothing since the latest look although requests are open. It reports whether the host
// has not answered a ping either.
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

// Doubt reports that another host now leads a shard that this connection's host led. If the host does not answer a ping
// soon, it hangs, so the connection is closed and waiting requests go to the new leader.
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

// pong waits for one ping's answer.
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
