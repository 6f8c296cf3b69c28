package memlog

import (
	"container/heap"
	"math"
	"sync"
	"time"
)

// realTime runs network events when they are due by the clock. Events run on the next goroutine with the network's
// lock: a caller of the network, a goroutine returning from a state machine, or the driver. Each open log has one
// goroutine for callbacks. So a batch without delays changes goroutines once, from its proposer to the applying
// goroutine.
type realTime struct {
	net   *Network
	start time.Time // when virtual time was zero

	// The driver sleeps until this virtual time, or until woken. Guarded by the network's mu.
	until time.Duration
	wake  chan struct{}

	stop chan struct{}
	done sync.WaitGroup // driver, log goroutines, running saves
}

// Start makes the network run in real time from now until closed. Inside a testing/synctest bubble it runs on the
// bubble's clock. From now on Step, Advance and RunUntil panic. A second Start has no effect.
func (n *Network) Start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.real != nil || n.closed {
		return
	}
	if n.stepping {
		panic("memlog: a network is started while it is being stepped")
	}
	now := time.Now()
	r := &realTime{
		net: n, start: now.Add(-n.now), until: math.MaxInt64,
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	n.real, n.epoch, n.ready = r, r.start, nil
	for _, l := range n.logs {
		l.isReady = false
		r.startWorker(l)
	}
	r.done.Go(r.run)
}

// stopRealTime ends the goroutines of a network with closed logs.
func (n *Network) stopRealTime() {
	n.mu.Lock()
	r := n.real
	n.mu.Unlock()
	if r == nil {
		return
	}
	select {
	case <-r.stop:
	default:
		close(r.stop)
	}
	r.done.Wait()
}

// runDue runs every due event. An event happens at its scheduled virtual time, however late it really is, so a test on
// an overloaded machine sees no extra timeouts.
func (n *Network) runDue() {
	limit := time.Since(n.real.start)
	for {
		e := n.events.peek()
		if e == nil || e.at > limit {
			break
		}
		heap.Pop(&n.events)
		n.now = max(n.now, e.at)
		n.fire(e)
	}
	n.now = max(n.now, limit)
}

// wakeDriver wakes the driver if it would sleep past the next event.
func (r *realTime) wakeDriver() {
	if e := r.net.events.peek(); len(r.net.timers) == 0 && (e == nil || e.at >= r.until) {
		return
	}
	r.until = math.MinInt64 // the driver is awake from now on
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run is the driver.
func (r *realTime) run() {
	n := r.net
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-r.wake:
		case <-timer.C:
		}
		n.mu.Lock()
		n.runDue()
		for len(n.timers) > 0 {
			n.runTimer()
			n.runDue()
		}
		r.until = math.MaxInt64
		if e := n.events.peek(); e != nil {
			r.until = e.at
			timer.Reset(e.at - n.now)
		}
		n.mu.Unlock()
	}
}

// startWorker starts a log's callback goroutine. It ends when the log is closed and has no callbacks left.
func (r *realTime) startWorker(l *Log) {
	n := r.net
	r.done.Go(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for {
			switch {
			case l.hasCallback():
				l.runCallback()
				n.runDue()
				r.wakeDriver()
			case l.closed:
				return
			default:
				l.wake.Wait()
			}
		}
	})
}

// startSave saves a snapshot on its own goroutine.
func (r *realTime) startSave(l *Log, snap *savedSnapshot) {
	n := r.net
	r.done.Go(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		l.save(snap)
	})
}
