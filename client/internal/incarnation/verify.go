package incarnation

import (
	"fmt"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// A lease can be lost without its session, by a forced deletion of the semaphore. The host pushes the loss to the
// owner, but not while the owner has no connection. So after each gap a session asks each shard which parts the
// session holds. If a lease is missing in the answer, the session sends the acquire of the lease again, under the old
// number: a host answers it from the state.

// unverified is a lease that may have been lost in a gap.
type unverified struct {
	lease  *Lease
	name   string
	number uint64
}

// verifyLeases starts to verify the leases, if there are any. The lock is held.
func (in *Incarnation) verifyLeases() {
	if in.verifying || in.cause != nil {
		return
	}
	for _, q := range in.queues {
		if q.lease != nil {
			in.verifying = in.group.scope.Go(in.verifyUntilDone)
			return
		}
	}
}

// verifyUntilDone runs until all leases were verified after the latest gap.
func (in *Incarnation) verifyUntilDone() {
	var r retry.Retries
	for {
		in.mu.Lock()
		gaps := in.gaps
		in.mu.Unlock()
		r.Leaders = in.group.cluster.Leaders()
		err := in.verifyAll()
		if err != nil && !in.pauseAfter(&r, err, nil, nil) {
			return
		}
		in.mu.Lock()
		if err == nil && gaps == in.gaps || in.cause != nil {
			in.verifying = false
			in.mu.Unlock()
			return
		}
		in.mu.Unlock()
	}
}

// verifyAll verifies all leases that are older than the call. The error says why a lease could not be verified.
func (in *Incarnation) verifyAll() error {
	type shard struct {
		id    uint64
		known bool
	}
	byShard := make(map[shard][]unverified)
	in.mu.Lock()
	for _, q := range in.queues {
		if q.lease != nil && q.lease.cause == nil {
			id, known := in.group.cluster.ShardAt(in.slot(q.name))
			s := shard{id, known}
			byShard[s] = append(byShard[s], unverified{q.lease, q.name, q.lease.number})
		}
	}
	in.mu.Unlock()
	for s, leases := range byShard {
		var held map[string]uint64
		if s.known {
			var err error
			held, err = in.heldAt(s.id, leases[0].name)
			retriable := failure.IsTransport(err) || leavesAsItWas(failure.Status(err)) || in.ctx.Err() != nil
			if err != nil && retriable {
				return err
			}
		}
		// If the host does not say, each lease is asked for.
		for _, u := range leases {
			if held[u.name] != u.lease.Order {
				if err := in.verify(u); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// heldAt asks the leader of a shard for the session's parts of semaphores in the shard: order ids by name. name is a
// semaphore of the shard.
func (in *Incarnation) heldAt(shard uint64, name string) (map[string]uint64, error) {
	to, _, err := in.connTo(in.ctx, in.slot(name), nil)
	if err != nil {
		return nil, err
	}
	held := make(map[string]uint64)
	m := &protocol.SessionHoldings{SessionID: in.id, ShardID: shard}
	for {
		next := uint64(0)
		err := to.RoundTrip(in.ctx, m, func(a *protocol.Answer) {
			for h := range a.SessionHoldings.Holdings.All() {
				if !h.Waiting {
					held[string(h.Name)] = h.OrderID
				}
			}
			next = a.SessionHoldings.Next
		})
		if err != nil || next == 0 {
			return held, err
		}
		m.After = next
	}
}

// verify sends the acquire of a lease again. A repetition changes nothing.
func (in *Incarnation) verify(u unverified) error {
	q, err := in.begin(in.ctx, u.name)
	if err != nil {
		return err
	}
	defer in.finish(q)
	in.mu.Lock()
	l := u.lease
	if q.lease != l || l.cause != nil || l.number != u.number {
		in.mu.Unlock()
		return nil // a later acquire changed the lease, so a host was asked
	}
	m := in.mutation(q)
	m.useAcquire(l.count, l.data, l.ephemeral, 0)
	m.numbers.Number, m.changes = u.number, true
	in.mu.Unlock()
	_, _, err = m.sendOnce(in.ctx, nil)
	if err != nil {
		switch status := failure.Status(err); {
		case failure.IsTransport(err), in.ctx.Err() != nil:
			return err
		case status == protocol.StatusBadSession:
			in.unknownAt(m.conn, &retry.Retries{})
			return &failure.Transport{Address: m.conn.Address(), Err: err}
		case status == protocol.StatusAborted, status == protocol.StatusStale, status == protocol.StatusNotFound:
			in.loseLease(q, l, failure.Overtaken(err))
			return nil
		case leavesAsItWas(status):
			return err
		}
		return nil // the host does not say
	}
	in.mu.Lock()
	phase, order := m.phase, m.order
	in.mu.Unlock()
	if phase == owned && order == l.Order {
		return nil
	}
	if phase == owned || phase == queued {
		// The host did not know the acquire, and carried it out as a new acquire.
		in.sendRelease(q, order)
	}
	in.loseLease(q, l, nil)
	return nil
}

// loseLease ends a lease that the host does not know.
func (in *Incarnation) loseLease(q *keyQueue, l *Lease, why error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	cause := failure.ErrLeaseLost
	if why != nil {
		cause = fmt.Errorf("%w: %w", failure.ErrLeaseLost, why)
	}
	l.lose(cause)
	if q.lease == l {
		q.lease = nil
	}
}
