package memlog

// callback is one call by a log: to its state machine or to a caller's function. A log runs its callbacks sequentially,
// in queue order. Each starts under the network's lock and releases the lock while foreign code runs.
type callback struct {
	entries []*entry // to apply; nil for other callbacks
	run     func()
}

// callbackQueue is first in, first out.
type callbackQueue struct {
	items []callback
	head  int
}

func (q *callbackQueue) empty() bool { return q.head == len(q.items) }

func (q *callbackQueue) pop() callback {
	c := q.items[q.head]
	q.items[q.head] = callback{}
	q.head++
	if q.empty() {
		q.items, q.head = q.items[:0], 0
	}
	return c
}

// enqueue queues a callback and schedules its execution.
func (l *Log) enqueue(run func()) {
	l.callbacks.items = append(l.callbacks.items, callback{run: run})
	l.wakeCallbacks()
}

// enqueueMachine queues a state machine call. The call is skipped if the log has ended or the state machine has failed
// by then.
func (l *Log) enqueueMachine(run func()) {
	l.enqueue(func() {
		if l.machineRuns() {
			run()
		}
	})
}

// enqueueCommitted queues all committed entries for apply. Entries join the last queued entries if possible.
func (l *Log) enqueueCommitted() {
	s := l.replica.store
	if s.commit <= l.queued {
		return
	}
	l.group.checkCommitted(l.replica, l.queued, s.commit)
	entries := s.between(l.queued, s.commit)
	q := &l.callbacks
	if last := len(q.items) - 1; !q.empty() && q.items[last].entries != nil {
		q.items[last].entries = append(q.items[last].entries, entries...)
	} else {
		q.items = append(q.items, callback{entries: entries})
		l.wakeCallbacks()
	}
	l.queued = s.commit
	l.releaseBarriers()
}

// machineRuns reports whether the state machine is still called.
func (l *Log) machineRuns() bool { return !l.ended && l.failed == nil }

// wakeCallbacks makes the queue run: by the log's goroutine in real time, by the next Step in a simulation.
func (l *Log) wakeCallbacks() {
	n := l.net
	switch {
	case n.real != nil:
		l.wake.Signal()
	case !l.isReady && l.hasCallback():
		l.isReady = true
		n.ready = append(n.ready, l)
	}
}

// hasCallback reports whether a callback may run now. A paused host runs none. A crashed host runs callbacks only after
// its log was closed.
func (l *Log) hasCallback() bool {
	return !l.callbacks.empty() && (l.closed || !l.ended && !l.host.paused)
}

// runCallback runs the first queued callback.
func (l *Log) runCallback() {
	switch c := l.callbacks.pop(); {
	case c.entries == nil:
		c.run()
	case l.machineRuns():
		l.apply(c.entries)
	}
}

// callMachine calls the state machine. Close waits for the call.
func (l *Log) callMachine(f func() error) (err error) {
	l.inMachine++
	defer func() {
		l.inMachine--
		l.net.idle.Broadcast()
	}()
	l.net.unlocked(func() { err = f() })
	return err
}

// awaitMachine waits until no state machine call is running. After the log has ended, it also discards a prepared,
// unsaved snapshot.
func (l *Log) awaitMachine() {
	for l.inMachine > 0 {
		l.net.idle.Wait()
	}
	if snapshot := l.prepared; l.ended && snapshot != nil {
		l.prepared = nil
		l.net.unlocked(snapshot.Discard)
	}
}
