package memlog

import (
	"math"
	"sync"
	"time"
)

// realTime lets the events of a network happen when they are due by the clock. Events run on whatever
// goroutine comes by: one that calls the network, one that has just called a state machine, or, when
// nobody does, the driver's own. Calls are made by one goroutine for each open log. So a batch without
// delays changes goroutines once, from its proposer to the one that applies it.
type realTime struct {
	net   *Network
	start time.Time // when virtual time was zero

	// The driver sleeps until this virtual time, or until it is woken. Guarded by the network's mu.
	until time.Duration
	wake  chan struct{}

	stop chan struct{}
	done sync.WaitGroup // the driver, the callers of logs, saves under way
}

// Start makes the network run in real time, from now until it is closed. Started inside a
// testing/synctest bubble it runs on the bubble's clock. From here on Step, Advance and RunUntil
// panic. Starting it twice does nothing.
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
	rt := &realTime{
		net: n, start: now.Add(-n.now), until: math.MaxInt64,
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	n.real, n.epoch, n.ready = rt, rt.start, nil
	for _, l := range n.logs {
		l.isReady = false
		rt.startWorker(l)
	}
	rt.done.Go(rt.run)
}

// stopRealTime ends the goroutines of a network whose logs are closed.
func (n *Network) stopRealTime() {
	n.mu.Lock()
	rt := n.real
	n.mu.Unlock()
	if rt == nil {
		return
	}
	select {
	case <-rt.stop:
	default:
		close(rt.stop)
	}
	rt.done.Wait()
}

// pump lets everything happen that is due by now. An event happens at the moment it was due, however
// late it really is: a test on a starved machine sees no timeouts that the network did not have.
func (n *Network) pump() {
	limit := time.Since(n.real.start)
	for {
		e := n.events.peek()
		if e == nil || e.at > limit {
			break
		}
		n.events.pop()
		n.now = max(n.now, e.at)
		n.fire(e)
	}
	n.now = max(n.now, limit)
}

// rearm wakes the driver if it sleeps for too long.
func (rt *realTime) rearm() {
	if e := rt.net.events.peek(); len(rt.net.timers) == 0 && (e == nil || e.at >= rt.until) {
		return
	}
	rt.until = math.MinInt64 // it is awake from now on
	select {
	case rt.wake <- struct{}{}:
	default:
	}
}

// run is the driver.
func (rt *realTime) run() {
	n := rt.net
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-rt.stop:
			return
		case <-rt.wake:
		case <-timer.C:
		}
		n.mu.Lock()
		n.pump()
		for len(n.timers) > 0 {
			n.runTimer()
			n.pump()
		}
		rt.until = math.MaxInt64
		if e := n.events.peek(); e != nil {
			rt.until = e.at
			timer.Reset(e.at - n.now)
		}
		n.mu.Unlock()
	}
}

// startWorker starts the goroutine that makes a log's calls. It ends when the log is closed and has
// nothing left to say.
func (rt *realTime) startWorker(l *Log) {
	n := rt.net
	rt.done.Go(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for {
			switch {
			case l.callable():
				l.makeCall()
				n.pump()
				rt.rearm()
			case l.closed:
				return
			default:
				l.wake.Wait()
			}
		}
	})
}

// startSave saves a snapshot beside everything else.
func (rt *realTime) startSave(l *Log, img *image) {
	n := rt.net
	rt.done.Go(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		l.save(img)
	})
}
