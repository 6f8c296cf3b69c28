package memlog

import (
	"container/heap"
	"fmt"
	"math"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Step runs the next event and the resulting callbacks, and reports whether there was an event. Time jumps to the
// event. Like Advance and RunUntil it requires a simulated network and must not be called from a callback.
func (n *Network) Step() bool {
	stepped := false
	n.simulate(func() { stepped = n.step(math.MaxInt64) })
	return stepped
}

// Advance runs everything due within the duration, and advances virtual time by it.
func (n *Network) Advance(d time.Duration) {
	n.simulate(func() {
		until := n.now + d
		for n.step(until) {
		}
		n.now = max(n.now, until)
	})
}

// RunUntil steps until the condition holds, and returns the condition's value. It gives up after the limit, or without
// remaining events.
func (n *Network) RunUntil(condition func() bool, limit time.Duration) bool {
	holds := false
	n.simulate(func() {
		until := n.now + limit
		for {
			n.unlocked(func() { holds = condition() })
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
	return locked(n, func() time.Duration { return n.now })
}

// simulate runs f, which steps the network, under the lock. Only one goroutine may step at a time.
func (n *Network) simulate(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.real != nil {
		panic("memlog: a network that runs in real time cannot be stepped")
	}
	if n.stepping {
		panic("memlog: a network is stepped from a callback, or from two goroutines")
	}
	n.stepping, n.eventsAtNow = true, 0
	defer func() { n.stepping = false }()
	f()
}

// step runs due callbacks, then the next event up to the given time, and the resulting callbacks.
func (n *Network) step(until time.Duration) bool {
	did := n.drain()
	e := n.events.peek()
	if e == nil || e.at > until {
		return did
	}
	heap.Pop(&n.events)
	if n.eventsAtNow++; e.at > n.now {
		n.now, n.eventsAtNow = e.at, 0
	}
	if n.eventsAtNow > maxEventsAtOnce {
		panic(fmt.Sprintf("memlog: time stands still at %v: something repeats itself without waiting", n.now))
	}
	n.fire(e)
	n.drain()
	return true
}

// drain runs all runnable callbacks, and reports whether there were any.
func (n *Network) drain() bool {
	did := false
	for {
		switch {
		case len(n.timers) > 0:
			n.runTimer()
			did = true
		case len(n.ready) > 0:
			l := n.ready[0]
			if l.hasCallback() {
				l.runCallback()
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

// Timer is a function scheduled on the network.
type Timer struct {
	net  *Network
	done bool // called or stopped
}

// AfterFunc calls f when the host's clock has advanced by d, like a timer in the host's process: not while the host is
// paused, and never after it went down. Host 0 stands for the test itself, whose timers follow virtual time. Functions
// are called sequentially, like callbacks.
func (n *Network) AfterFunc(host shard.HostID, d time.Duration, f func()) *Timer {
	t := &Timer{net: n}
	n.do(func() {
		e := event{run: func() {
			if !t.done {
				t.done = true
				n.timers = append(n.timers, f)
			}
		}}
		if host != 0 {
			e.host = n.mustHost(host)
			d = e.host.virtual(d)
		}
		n.schedule(d, e)
	})
	return t
}

// Stop prevents the call, and reports whether it was in time.
func (t *Timer) Stop() bool {
	return locked(t.net, func() bool {
		inTime := !t.done
		t.done = true
		return inTime
	})
}

// runTimer calls the function of a due timer.
func (n *Network) runTimer() {
	f := n.timers[0]
	n.timers[0] = nil
	n.timers = n.timers[1:]
	n.unlocked(f)
}
