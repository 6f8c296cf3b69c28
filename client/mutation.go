package client

import (
	"context"

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

// use makes one of the messages the mutation's own, for the life's session and node.
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

// carry sends the mutation until it is answered for good. It returns nil for a success, the host's refusal,
// or why it was given up: the context's cause, or that of the end of the session. After those two the
// outcome may be open: whoever has the turn of the lane must see to that.
func (m *mutation) carry(ctx context.Context) error {
	x := m.life
	var r retries
	var tried *host
	for {
		l, h, err := m.try(ctx, tried)
		if err == nil {
			return nil
		}
		tried = h
		if cause := context.Cause(x.ctx); cause != nil {
			return cause
		}
		if statusOf(err) == protocol.StatusBadSession && !isTransport(err) {
			if l == nil || !x.stray(l, &r) {
				return err
			}
			continue
		}
		if statusOf(err) == protocol.StatusSessionExpired {
			x.over(EndUnknown, "")
			return context.Cause(x.ctx)
		}
		if err := x.client.redirect(ctx, err, l, h); err != nil {
			return err
		}
		if err := r.again(ctx, x.ctx, err); err != nil {
			return err
		}
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

// try sends the mutation once and waits for the answer. If it is under way already it only waits.
func (m *mutation) try(ctx context.Context, tried *host) (*link, *host, error) {
	x := m.life
	if m.at() == sent {
		return m.link, m.link.host, m.await(ctx)
	}
	l, h, err := x.linkFor(ctx, x.slot(m.lane.name), tried)
	if err != nil {
		return nil, h, err
	}
	if err := m.send(ctx, l); err != nil {
		return l, h, err
	}
	return l, h, m.await(ctx)
}

// at returns where the mutation is.
func (m *mutation) at() phase {
	m.life.mu.Lock()
	defer m.life.mu.Unlock()
	return m.phase
}

// send gives the mutation its number, if it has none, and sends it. Numbers are given and sent under one
// lock, so that they arrive in order.
func (m *mutation) send(ctx context.Context, l *link) error {
	x := m.life
	x.mu.Lock()
	for m.numbers.Number == 0 && x.numbers.full() {
		room := x.roomLater()
		x.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		}
		x.mu.Lock()
	}
	defer x.mu.Unlock()
	if x.cause != nil {
		return x.cause
	}
	if m.numbers.Number == 0 {
		m.numbers.Number = x.numbers.give()
	}
	m.numbers.SessionID = x.id
	m.numbers.Acknowledged = x.numbers.acknowledged(m.numbers.Number)
	m.phase, m.link = sent, l
	m.tries++
	id, err := l.send(m, m.message)
	if m.id = id; err != nil {
		m.phase = idle
		return err
	}
	return nil
}

// await waits until the mutation that was sent has an answer, or its connection is lost.
func (m *mutation) await(ctx context.Context) error {
	x := m.life
	for {
		select {
		case <-m.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		}
		x.mu.Lock()
		phase, err, result := m.phase, m.err, m.result
		x.mu.Unlock()
		switch phase {
		case sent: // what woke it belongs to an earlier try
		case broken:
			return err
		default:
			return result.Err()
		}
	}
}
