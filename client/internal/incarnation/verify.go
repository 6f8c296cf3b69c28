package incarnation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// A lease can be lost without its session: by a forced deletion of the semaphore, or where a shard has lost its
// majority and was made anew. The host pushes the loss to the owner, but not while the owner has no connection. So
// after each gap a session asks each shard which parts the session holds. If a lease is missing in the answer, the
// session sends the acquire of the lease again, under the old number: a host answers it from the state.
//
// A mutation under way comes before the acquire of its lease. If the shard does not list the lease, and a host puts the
// mutation off, the lease is lost: a shard made anew grants nothing until all owners have noticed their losses, and the
// next owner may come before the mutation is carried out.

// unverified is a lease that may have been lost in a gap.
type unverified struct {
	lease  *Lease
	name   string
	number uint64
}

// turnPatience is how long leases wait for their turns in busy queues before their shards are asked again.
const turnPatience = time.Second

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

// verifyAll verifies all leases that are older than the call, in all shards beside each other. The error says why a
// lease could not be verified.
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
	ended := make(chan error)
	under := 0
	for s, leases := range byShard {
		if in.group.scope.Go(func() { ended <- in.verifyIn(s.id, s.known, leases) }) {
			under++
		}
	}
	var failed error
	for range under {
		failed = cmp.Or(failed, <-ended)
	}
	return failed
}

// verifyIn verifies leases of one shard. Those whose queues are busy come last.
func (in *Incarnation) verifyIn(shard uint64, known bool, leases []unverified) error {
	var held map[string]uint64
	if known {
		var err error
		held, err = in.heldAt(shard, leases[0].name)
		retriable := failure.IsTransport(err) || leavesAsItWas(failure.Status(err)) || in.ctx.Err() != nil
		if err != nil && retriable {
			return err
		}
		known = err == nil
	}
	// If the host does not say, each lease is asked for.
	leases = slices.DeleteFunc(leases, func(u unverified) bool { return held[u.name] == u.lease.Order })
	in.mu.Lock()
	var idle, busy []unverified
	for _, u := range leases {
		q := in.queues[u.name]
		if q == nil || q.lease != u.lease {
			continue
		}
		u.lease.missing = known
		in.loseRefused(q)
		if q.busy {
			busy = append(busy, u)
		} else {
			idle = append(idle, u)
		}
	}
	in.mu.Unlock()
	ctx, cancel := context.WithTimeout(in.ctx, turnPatience)
	defer cancel()
	for _, u := range append(idle, busy...) {
		if err := in.verify(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// loseRefused ends the lease of a queue if the shard does not list the lease, and a host refuses for now what is under
// way. The lease is released: a host of an earlier build hides what the client may not see. The lock is held.
func (in *Incarnation) loseRefused(q *keyQueue) {
	if l := q.lease; q.refused && l != nil && l.missing {
		q.removeLease(failure.ErrLeaseLost)
		in.releaseLater(q.name, l.Order)
	}
}

// heldAt asks the leader of a shard for the session's parts of semaphores in the shard: order ids by name. name is a
// semaphore of the shard. The read is strict: no replica of a group that is no more answers.
func (in *Incarnation) heldAt(shard uint64, name string) (map[string]uint64, error) {
	to, _, err := in.connTo(in.ctx, in.slot(name), nil)
	if err != nil {
		return nil, err
	}
	held := make(map[string]uint64)
	m := &protocol.SessionHoldings{SessionID: in.id, ShardID: shard, Consistency: protocol.ConsistencyStrict}
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

// verify sends the acquire of a lease again, in the lease's turn, for which it waits no longer than the context. A
// repetition changes nothing.
func (in *Incarnation) verify(ctx context.Context, u unverified) error {
	q, err := in.begin(ctx, u.name)
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
		case status == protocol.StatusSessionExpired:
			in.End(Unknown, "")
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
