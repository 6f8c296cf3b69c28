package session

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

// A lease can be lost while its session lives: by a forced deletion of the semaphore, or if a shard lost its quorum and
// was rebuilt. The host pushes the loss to the owner, but not while the owner is disconnected. So after each gap the
// session asks each shard for its holdings. If a lease is missing, the session sends the lease's acquire again with the
// old number, and a host answers from its state.
//
// A mutation in flight comes before the lease's acquire. If the shard does not list the lease, and a host defers the
// mutation, the lease is lost: a rebuilt shard grants nothing until all owners have noticed their losses, and the next
// owner may come before the mutation is applied.

// unverified is a lease that may have been lost in a gap.
type unverified struct {
	lease  *Lease
	name   string
	number uint64
}

// turnPatience is how long leases wait for their turns in busy queues before their shards are asked again.
const turnPatience = time.Second

// look verifies one shard's leases until a host has confirmed or denied each lease. Each shard has its own look, so an
// unresponsive shard does not hide a loss in another shard.
type look struct {
	shard  uint64 // 0 if unknown
	leases []unverified
	gaps   int // how often lease news may have been missed meanwhile
}

// verifyLeases starts to verify the leases, or has looks under way begin again. The lock is held.
func (in *Incarnation) verifyLeases() {
	if in.cause != nil {
		return
	}
	for _, l := range in.looks {
		l.leases, l.gaps = nil, l.gaps+1
	}
	for _, q := range in.queues {
		if q.lease == nil || q.lease.cause != nil {
			continue
		}
		shard := in.shardOf(q.name)
		at := slices.IndexFunc(in.looks, func(l *look) bool { return l.shard == shard })
		if at < 0 {
			l := &look{shard: shard}
			if !in.group.scope.Go(func() { in.verifyUntilDone(l) }) {
				return
			}
			at, in.looks = len(in.looks), append(in.looks, l)
		}
		in.looks[at].leases = append(in.looks[at].leases, unverified{q.lease, q.name, q.lease.number})
	}
}

// shardOf returns the shard id for a semaphore, or 0 if unknown.
func (in *Incarnation) shardOf(name string) uint64 {
	return in.group.cluster.ShardAt(protocol.SemaphoreSlot(in.nodeID, protocol.View(name)))
}

// verifyUntilDone runs until all leases in a look were verified after the latest gap.
func (in *Incarnation) verifyUntilDone(l *look) {
	var r retry.Retries
	for done := false; !done; {
		in.mu.Lock()
		gaps, leases := l.gaps, l.leases
		in.mu.Unlock()
		r.Leaders = in.group.cluster.Leaders()
		err := in.verifyIn(l, leases)
		ended := err != nil && !in.pauseAfter(&r, err, nil, nil)
		in.mu.Lock()
		if done = err == nil && gaps == l.gaps || ended || in.cause != nil; done {
			in.looks = slices.DeleteFunc(in.looks, func(other *look) bool { return other == l })
		}
		in.mu.Unlock()
	}
}

// verifyIn verifies one shard's leases. The error is why a lease could not be verified.
func (in *Incarnation) verifyIn(l *look, leases []unverified) error {
	if len(leases) == 0 {
		return nil
	}
	var held map[string]uint64
	known := l.shard != 0
	if known {
		var err error
		held, err = in.heldAt(l.shard, leases[0].name)
		if in.verifyMoved(l, leases) {
			return nil
		}
		retriable := failure.IsTransport(err) || leavesAsItWas(failure.Status(err)) || in.ctx.Err() != nil
		if err != nil && retriable {
			return err
		}
		known = err == nil
	}
	ctx, cancel := context.WithTimeout(in.ctx, turnPatience)
	defer cancel()
	ended := make(chan error)
	under := 0
	for _, u := range leases {
		// If the host does not list the leases, ask for each lease.
		if held[u.name] != u.lease.Order && in.noteMissing(u, known) &&
			in.group.scope.Go(func() { ended <- in.verify(ctx, u) }) {
			under++
		}
	}
	var failed error
	for range under {
		failed = cmp.Or(failed, <-ended)
	}
	return failed
}

// verifyMoved has all looks begin again if a lease's slot has left a look's shard meanwhile. The shard does not list
// the lease, and the lease is not lost.
func (in *Incarnation) verifyMoved(l *look, leases []unverified) bool {
	moved := slices.ContainsFunc(leases, func(u unverified) bool { return in.shardOf(u.name) != l.shard })
	if moved {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.verifyLeases()
	}
	return moved
}

// noteMissing notes that a shard does not list a lease, if the shard was asked, and reports whether the lease is still
// to be asked for.
func (in *Incarnation) noteMissing(u unverified, known bool) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	q := in.queues[u.name]
	if q == nil || q.lease != u.lease {
		return false
	}
	u.lease.missing = known
	in.loseRefused(q)
	return q.lease == u.lease
}

// loseRefused ends the lease in a queue if the shard does not list the lease, and a host rejects the mutation in flight
// for now. The lease is also released, because a host with an earlier build hides what the client may not see. The lock
// is held.
func (in *Incarnation) loseRefused(q *keyQueue) {
	if q.refused && q.lease != nil && q.lease.missing {
		in.giveUpLease(q)
	}
}

// heldAt asks a shard's leader for the session's semaphore holdings in the shard: order ids by name. name is a
// semaphore in the shard. The read is strict, so no replica from a former group answers.
func (in *Incarnation) heldAt(shard uint64, name string) (map[string]uint64, error) {
	to, _, err := in.connTo(in.ctx, name, nil)
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

// verify sends a lease's acquire again, in the lease's turn, and waits for the turn until ctx ends. The repetition
// changes nothing.
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
	m := in.newAcquire(q, &Request{Count: l.count, Data: l.data, Ephemeral: l.ephemeral})
	m.numbers.Sequence, m.changes = u.number, true
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
		// The host did not know the acquire and applied it as new.
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
