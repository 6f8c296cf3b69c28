package memlog

import (
	"fmt"
	"math"
	"time"
)

// Step lets the next thing happen, with the calls it leads to, and tells whether there was one. Time
// jumps to it. Like Advance and RunUntil it is for simulated networks, and not to be called from a
// callback.
func (n *Network) Step() bool {
	stepped := false
	n.drive(func() { stepped = n.step(math.MaxInt64) })
	return stepped
}

// Advance lets everything happen that is due within the duration, which then has passed.
func (n *Network) Advance(d time.Duration) {
	n.drive(func() {
		until := n.now + d
		for n.step(until) {
		}
		n.now = max(n.now, until)
	})
}

// RunUntil steps until the condition holds, and tells whether it does. It gives up when that much
// time has passed, or nothing is left that could happen.
func (n *Network) RunUntil(condition func() bool, limit time.Duration) bool {
	holds := false
	n.drive(func() {
		until := n.now + limit
		for {
			n.outside(func() { holds = condition() })
			if holds {
				return
			}
			if !n.step(until) {
				n.now = max(n.now, until)
				return
			}
		}
	})
	return holds
}

// Elapsed is the virtual time since the network was made.
func (n *Network) Elapsed() time.Duration {
	var d time.Duration
	n.do(func() { d = n.now })
	return d
}

// drive runs f as the one that makes things happen.
func (n *Network) drive(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.real != nil {
		panic("memlog: a network that runs in real time cannot be stepped")
	}
	if n.stepping {
		panic("memlog: a network is stepped from a callback, or from two goroutines")
	}
	n.stepping, n.atOnce = true, 0
	defer func() { n.stepping = false }()
	f()
}

// step makes the calls that are due, then lets one event happen if there is one until then, and makes
// the calls it led to.
func (n *Network) step(until time.Duration) bool {
	did := n.drain()
	e := n.events.peek()
	if e == nil || e.at > until {
		return did
	}
	n.events.pop()
	if n.atOnce++; e.at > n.now {
		n.now, n.atOnce = e.at, 0
	}
	if n.atOnce > maxAtOnce {
		panic(fmt.Sprintf("memlog: time stands still at %v: something repeats itself without waiting", n.now))
	}
	n.fire(e)
	n.drain()
	return true
}

// drain makes all calls that may be made, and tells whether there were some.
func (n *Network) drain() bool {
	did := false
	for {
		switch {
		case len(n.timers) > 0:
			n.runTimer()
			did = true
		case len(n.ready) > 0:
			l := n.ready[0]
			if l.callable() {
				l.makeCall()
				did = true
				continue
			}
			l.isReady = false
			n.ready = n.ready[1:]
		default:
			return did
		}
	}
}
