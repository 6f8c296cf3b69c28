package session

import (
	"cmp"
	"context"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

// phase is a mutation's progress.
type phase uint8

const (
	idle       phase = iota // no try is under way
	sent                    // sent, and not answered
	answered                // answered, for good or with a reason to send again
	broken                  // the connection was lost before the answer
	queued                  // an acquire that waits at the host
	unobserved              // an acquire that waits; hosts report the outcome only after a resend
	owned                   // an acquire that created or changed a lease
	ended                   // an acquire that waited but did not get a lease
)

// mutation is a session's change to one object, with all attempts. Every attempt has the same number until a host has
// answered, so the change takes effect once.
//
// The sending goroutine owns the mutation, except for the fields guarded by the incarnation's lock, which are also set
// by goroutines that read connections.
type mutation struct {
	in      *Incarnation
	queue   *keyQueue
	message protocol.RequestMessage // acquire, release, or the caller's message
	// impatient means that the mutation is not sent again to an overloaded host.
	impatient bool
	numbers   *protocol.Mutation // of the message
	wake      chan struct{}      // gets a token on each event; capacity 1
	acquire   protocol.Acquire
	release   protocol.Release

	// read copies data out of a success response; may be nil. The incarnation's lock guards read and the fields below.
	read func(a *protocol.Answer)

	// Guarded by the incarnation's lock.
	phase    phase
	conn     *conn.Conn // from the latest attempt
	id       uint64
	tries    int // set by the sending goroutine
	result   protocol.Result
	err      error  // why the connection broke, or why the acquire ended
	doubt    bool   // some try may have been carried out without an answer
	waited   bool   // the acquire was queued once
	changes  bool   // a lease existed at the first attempt
	losses   int    // how many losses in rebuilt shards were known at the first attempt
	order    uint64 // for an acquire that owns or waits
	limit    uint64 // for an acquire: the semaphore's limit; 0 if the host does not report it
	lease    *Lease // for an acquire that owns
	released bool
}

// recycle returns a mutation to the pool. After several attempts, or without a plain response, a connection may still
// refer to the mutation, so the garbage collector takes it.
func (m *mutation) recycle() {
	if m.tries != 1 || m.waited || m.phase == sent || m.phase == broken {
		return
	}
	if len(m.wake) > 0 {
		<-m.wake
	}
	pool := &m.in.group.mutations
	*m = mutation{wake: m.wake}
	pool.Put(m)
}

// wakeUp wakes the goroutine that waits for the mutation.
func (m *mutation) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// at returns the mutation's phase.
func (m *mutation) at() phase {
	m.in.mu.Lock()
	defer m.in.mu.Unlock()
	return m.phase
}

// sendUntilAnswered sends the mutation until it gets a final answer. The result is nil for a success, the host's
// rejection, or why sending was abandoned: the cause of the context or of the session's end. After abandoning, the
// outcome may be open, and the caller, which has the queue position, must resolve it.
//
// The first attempt, nearly always the only one, uses little stack: if many goroutines wait, each stack has left the
// cache by the time its goroutine continues.
func (m *mutation) sendUntilAnswered(ctx context.Context) error {
	to, h, err := m.sendOnce(ctx, nil)
	if err == nil {
		return nil
	}
	return m.sendAgain(ctx, to, h, err)
}

// sendAgain continues sendUntilAnswered after a failed first attempt.
func (m *mutation) sendAgain(ctx context.Context, to *conn.Conn, h *cluster.Host, err error) error {
	var refused error
	first := true
	err = m.in.repeat(ctx, func(tried cluster.Tried) (*conn.Conn, *cluster.Host, error) {
		to, h, err := to, h, err
		if !first {
			to, h, err = m.sendOnce(ctx, tried)
		}
		first = false
		switch failure.Refusal(err) {
		case protocol.StatusSessionExpired:
			m.in.End(Unknown, "")
		case protocol.StatusOverloaded:
			if m.impatient && !m.isDoubtful() {
				refused, err = err, nil
			}
		}
		return to, h, err
	})
	return cmp.Or(err, refused)
}

// isDoubtful reports whether some try may have been carried out without an answer.
func (m *mutation) isDoubtful() bool {
	m.in.mu.Lock()
	defer m.in.mu.Unlock()
	return m.doubt
}

// sendOnce sends the mutation once and waits for the answer. If a try is under way already, sendOnce only waits.
//
// Numbers are given and sent under a single lock, so that mutations arrive in order.
func (m *mutation) sendOnce(ctx context.Context, tried cluster.Tried) (*conn.Conn, *cluster.Host, error) {
	in := m.in
	if m.tries > 0 && m.at() == sent {
		return m.conn, cluster.HostOf(m.conn), m.await(ctx)
	}
	leader := cluster.LeaderAt(protocol.SemaphoreSlot(in.nodeID, protocol.View(m.queue.name)))
	to, h, err := in.group.cluster.Connect(ctx, cluster.Leisure, leader, in.stripe, tried)
	if err != nil {
		return nil, h, err
	}
	in.mu.Lock()
	if to != in.home {
		in.mu.Unlock()
		if err := in.bind(ctx, to); err != nil {
			return nil, h, err
		}
		in.mu.Lock()
	}
	if err := in.cause; err != nil {
		in.mu.Unlock()
		return to, h, err
	}
	number, acknowledged := in.numbers.give(m.numbers.Sequence)
	if number == 0 {
		if number, acknowledged, err = in.giveLater(ctx); err != nil {
			in.mu.Unlock()
			return to, h, err
		}
	}
	m.numbers.SessionID, m.numbers.Sequence, m.numbers.AcknowledgedSequence = in.id, number, acknowledged
	m.phase, m.conn, m.queue.refused = sent, to, false
	if m.tries == 0 {
		m.changes, m.losses = m.changes || m.queue.lease != nil, len(in.lost)
	}
	m.tries++
	id, work, err := to.SendAwaited("", m, m.message)
	if m.id = id; err != nil {
		m.phase = idle
	}
	in.mu.Unlock()
	if err != nil {
		return to, h, err
	}
	to.Do(work, m.wake)
	return to, h, m.await(ctx)
}

// await waits until the mutation has an answer, or the connection is lost.
func (m *mutation) await(ctx context.Context) error {
	in := m.in
	for {
		select {
		case <-m.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-in.ctx.Done():
			return context.Cause(in.ctx)
		}
		in.mu.Lock()
		phase, err, result := m.phase, m.err, m.result
		in.mu.Unlock()
		switch phase {
		case sent: // the token in wake belongs to an earlier try
		case broken:
			return err
		default:
			return result.Err()
		}
	}
}

// awaitAnswer waits for the answer to a sent mutation, for as long as the connection is up.
func (m *mutation) awaitAnswer() {
	for m.at() == sent {
		select {
		case <-m.wake:
		case <-m.in.ctx.Done():
			return
		}
	}
}

// leavesAsItWas reports whether a result decides nothing about a mutation, so the mutation may be sent again. A host
// that does not know the session over a connection has not read the mutation.
func leavesAsItWas(s protocol.Status) bool {
	return s.Retry() != protocol.RetryNever || s == protocol.StatusBadSession
}

// refused reports whether the host has answered with a failure for good. The lock is held.
func (m *mutation) refused() bool { return m.phase == answered && !leavesAsItWas(m.result.Status) }

// Answered implements conn.Handler. State changes here, in the host's message order and before the waiting goroutine
// wakes up, so a later loss finds the lease.
func (m *mutation) Answered(from *conn.Conn, a *protocol.Answer) {
	in := m.in
	in.mu.Lock()
	defer in.mu.Unlock()
	switch a.Kind {
	case protocol.KindGranted:
		in.grant(m, a.Granted.OrderID)
		return
	case protocol.KindTimedOut:
		in.endAcquire(m, failure.ErrNotAcquired)
		return
	case protocol.KindAborted:
		switch result := &a.Aborted.Result; {
		case result.Status == protocol.StatusAborted:
			in.endAcquire(m, failure.Aborted(result.Reason))
		case leavesAsItWas(result.Status) || result.Status == protocol.StatusSuccess:
			if result.Status == protocol.StatusMoved {
				in.group.cluster.Moved(&result.Moved, from)
			}
			in.unobserve(m)
		default: // such as a lost right: the session stops waiting
			in.endAcquire(m, result.Err())
		}
		return
	}
	m.phase, m.result = answered, a.Result
	switch status := a.Result.Status; {
	case status == protocol.StatusSuccess:
		in.numbers.answered(m.numbers.Sequence)
		m.doubt = false
		if m.read != nil {
			m.read(a)
		}
		switch a.Kind {
		case protocol.KindAcquire.Answer():
			in.acquireAnswered(m, &a.Acquire)
		case protocol.KindRelease.Answer():
			m.released = a.Release.Released
			in.releaseAnswered(m.queue)
		}
	case status == protocol.StatusStale:
		m.dropNumber()
		m.doubt = false
	case !leavesAsItWas(status):
		in.numbers.answered(m.numbers.Sequence)
		m.doubt = false
	case status == protocol.StatusUnavailable:
		m.doubt = true
	case status == protocol.StatusOverloaded, status == protocol.StatusStorageFull:
		m.queue.refused = true
		in.loseRefused(m.queue)
	}
	m.wakeUp()
}

// Lost implements conn.Handler.
func (m *mutation) Lost(from *conn.Conn, err error) {
	in := m.in
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case m.conn != from:
	case m.phase == sent:
		m.phase, m.err, m.doubt = broken, err, true
		m.wakeUp()
	case m.phase == queued:
		in.unobserve(m)
	}
}

// dropNumber releases the number of a mutation that was certainly not applied or whose outcome does not matter. The
// lock is held.
func (m *mutation) dropNumber() {
	if m.numbers.Sequence != 0 {
		m.in.numbers.answered(m.numbers.Sequence)
		m.numbers.Sequence = 0
	}
}
