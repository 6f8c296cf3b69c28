package client

import (
	"github.com/signalbox/signalbox/protocol"
)

// phase says where a mutation is.
type phase uint8

const (
	idle     phase = iota // nothing of it is under way
	sent                  // it was sent, and is not answered
	answered              // it was answered, for good or with a reason to send it again
	broken                // the connection was lost before the answer
	queued                // an acquire that waits at the host
	adrift                // an acquire that waits, and whose outcome will not be told unless it is sent again
	owned                 // an acquire that became, or changed, a lease
	settled               // an acquire that waited and whose outcome is known and not a lease
)

// mutation is a change of one semaphore by a session, and all of its tries. It is sent under one number until
// it has an answer, so that it takes effect once.
//
// The goroutine that carries it owns it, but for the fields that are marked as guarded by the lock of the
// life: those are set by the goroutines that read connections too.
type mutation struct {
	life    *life
	lane    *lane
	message protocol.RequestMessage // one of those below
	numbers *protocol.Mutation      // of the message
	wake    chan struct{}           // something has happened to it; holds one

	acquire protocol.Acquire
	release protocol.Release
	create  protocol.SemaphoreCreate
	update  protocol.SemaphoreUpdate
	resize  protocol.SemaphoreResize
	remove  protocol.SemaphoreDelete

	// Guarded by the lock of the life.
	phase    phase
	link     *link // that it was sent over
	id       uint64
	tries    int
	result   protocol.Result
	err      error  // of a broken one; of a settled one what it ends with
	doubt    bool   // some try may have been carried out though it was not answered
	waited   bool   // it was queued once
	changes  bool   // an acquire by an owner: there is a lease that it is about
	order    uint64 // of an acquire that owns or waits
	limit    uint64 // of an acquire: what the semaphore has; 0 where the host does not say
	lease    *Lease // of an acquire that owns
	released bool
}

func (x *life) mutation(l *lane) *mutation {
	m := x.client.pools.mutations.Get().(*mutation)
	m.life, m.lane = x, l
	return m
}

// recycle gives a mutation back. One that was not simply answered may be known to a link yet, and is left to
// the garbage collector.
func (m *mutation) recycle() {
	if m.tries != 1 || m.waited || m.phase == sent || m.phase == broken {
		return
	}
	select {
	case <-m.wake:
	default:
	}
	pool := &m.life.client.pools.mutations
	*m = mutation{wake: m.wake}
	pool.Put(m)
}

// useAcquire makes the mutation an acquire, useRelease a release: of what stands under an order id, or of
// whatever there is where that is 0.
func (m *mutation) useAcquire() *protocol.Acquire {
	m.message, m.numbers = &m.acquire, &m.acquire.Mutation
	m.acquire.NodeID, m.acquire.Name = m.life.nodeID, protocol.View(m.lane.name)
	return &m.acquire
}

func (m *mutation) useRelease(order uint64) {
	m.message, m.numbers = &m.release, &m.release.Mutation
	m.release.NodeID, m.release.Name, m.release.OrderID = m.life.nodeID, protocol.View(m.lane.name), order
}

// tell wakes who carries the mutation.
func (m *mutation) tell() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// again tells whether a result leaves a mutation as it was. A host that does not know the session over a
// connection has not looked at the mutation.
func again(s protocol.Status) bool {
	return s.Retry() != protocol.RetryNever || s == protocol.StatusBadSession
}

// answered implements handler.
func (m *mutation) answered(from *link, a *protocol.Answer) {
	x := m.life
	x.mu.Lock()
	defer x.mu.Unlock()
	switch a.Kind {
	case protocol.KindGranted:
		x.granted(m, a.Granted.OrderID)
		return
	case protocol.KindTimedOut:
		x.settle(m, ErrNotAcquired)
		return
	case protocol.KindAborted:
		if result := &a.Aborted.Result; result.Status == protocol.StatusAborted {
			x.settle(m, aborted(result.Reason))
		} else {
			x.drift(m)
		}
		return
	}
	m.phase, m.result = answered, a.Result
	status := a.Result.Status
	if status == protocol.StatusStale {
		x.answeredNumber(m.numbers.Number)
		m.numbers.Number, m.doubt = 0, false
	} else if !again(status) {
		x.answeredNumber(m.numbers.Number)
		m.doubt = false
	} else if status == protocol.StatusUnavailable {
		m.doubt = true
	}
	if status == protocol.StatusSuccess {
		switch a.Kind {
		case protocol.KindAcquire.Answer():
			x.acquireAnswered(m, &a.Acquire)
		case protocol.KindRelease.Answer():
			m.released = a.Release.Released
			x.releaseAnswered(m.lane)
		}
	}
	m.tell()
}

// lost implements handler.
func (m *mutation) lost(from *link, err error) {
	x := m.life
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case m.link != from:
	case m.phase == sent:
		m.phase, m.err, m.doubt = broken, err, true
		m.tell()
	case m.phase == queued:
		x.drift(m)
	}
}

// giveUp lets the number go of a mutation that is known not to have been carried out, or that nobody asks
// about any more. The lock is held.
func (m *mutation) giveUp() {
	if m.numbers.Number != 0 {
		m.life.answeredNumber(m.numbers.Number)
		m.numbers.Number = 0
	}
}
