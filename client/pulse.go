package client

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

var errSilent = errors.New("the host did not answer a ping")

// pulse keeps a link, and all sessions that are attached over it, alive: it pings, and takes the link for
// dead when an answer is too long in coming.
//
// There is one ping for all sessions, every third of the smallest of their timeouts. A ping that is
// answered renews the leases from the moment at which it was sent. Its fields are guarded by the link's
// lock, but for vouched.
type pulse struct {
	link    *link
	vouched atomic.Int64 // the instant at which the latest answered ping was sent

	idle     time.Duration // the interval where no session asks for a shorter one
	timeouts map[time.Duration]int
	smallest time.Duration // of the timeouts; 0 for none
	timer    *time.Timer
	sent     instant // when the latest ping was sent
	waiting  bool    // for its answer
	stopped  bool
}

// start begins to ping. hello is when the host was greeted, which counts for a ping.
func (p *pulse) start(l *link, interval time.Duration, hello instant) {
	p.link = l
	p.idle = maxSilence
	if interval > 0 && interval < p.idle {
		p.idle = interval
	}
	p.timeouts = make(map[time.Duration]int)
	p.sent = hello
	l.mu.Lock()
	defer l.mu.Unlock()
	if !p.stopped {
		p.timer = time.AfterFunc(p.idle, p.beat)
	}
}

func (p *pulse) stop() {
	p.link.mu.Lock()
	defer p.link.mu.Unlock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// lastVouched is the moment at which the latest answered ping was sent.
func (p *pulse) lastVouched() instant { return instant(p.vouched.Load()) }

// join makes the pulse fast enough for a session of that timeout, leave undoes it.
func (p *pulse) join(timeout time.Duration) {
	p.link.mu.Lock()
	defer p.link.mu.Unlock()
	p.timeouts[timeout]++
	if p.smallest == 0 || timeout < p.smallest {
		p.smallest = timeout
		p.arm()
	}
}

func (p *pulse) leave(timeout time.Duration) {
	p.link.mu.Lock()
	defer p.link.mu.Unlock()
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

// interval is the time from ping to ping. The link's lock is held, here and below.
func (p *pulse) interval() time.Duration {
	if p.smallest > 0 && p.smallest/3 < p.idle {
		return max(p.smallest/3, time.Millisecond)
	}
	return p.idle
}

// patience is how long an answer may take. A third of a timeout and a quarter of it leave enough of a
// lease to attach elsewhere.
func (p *pulse) patience() time.Duration { return p.interval() * 3 / 4 }

// due is when there is something to do next.
func (p *pulse) due() instant {
	if p.waiting {
		return p.sent.add(p.patience())
	}
	return p.sent.add(p.interval())
}

func (p *pulse) arm() {
	if !p.stopped {
		p.timer.Reset(max(p.due().sub(p.link.client.clock.now()), 0))
	}
}

func (p *pulse) beat() {
	l := p.link
	l.mu.Lock()
	if now := l.client.clock.now(); !p.stopped && now >= p.due() {
		if p.waiting {
			l.mu.Unlock()
			l.fail(errSilent)
			return
		}
		if _, err := l.post(&pong{pulse: p, sent: now}, &protocol.Ping{}); err == nil {
			p.sent, p.waiting = now, true
			l.nudge()
		}
	}
	p.arm()
	l.mu.Unlock()
}

// pong waits for the answer to one ping.
type pong struct {
	pulse *pulse
	sent  instant
}

func (x *pong) answered(from *link, a *protocol.Answer) {
	if a.Result.Status != protocol.StatusSuccess {
		return // nobody was vouched for; if that does not change, the link is taken for dead
	}
	p := x.pulse
	p.vouched.Store(int64(x.sent))
	from.mu.Lock()
	p.waiting = false
	from.mu.Unlock()
}

func (x *pong) lost(*link, error) {}
