package session

import (
	"context"
	"slices"
)

// keyQueue orders a session's mutations on one object. At most one mutation per queue is in flight; others wait, first
// come, first served. The incarnation's lock guards a queue.
type keyQueue struct {
	name   string
	busy   bool
	places []chan struct{} // one per waiting mutation; closed when the mutation may start
	// refused means that a host without capacity, or one that grants nothing for now, has rejected the latest attempt
	// at the mutation in flight.
	refused bool

	waiting *mutation // the acquire queued at the host
	lease   *Lease    // the session's lease
	// early is a loss reported before the answer to the lost lease's acquire.
	early earlyLoss
}

type earlyLoss struct {
	order uint64
	cause error
}

// begin waits until a mutation on the semaphore may be sent. The caller must call finish afterwards.
func (in *Incarnation) begin(ctx context.Context, name string) (*keyQueue, error) {
	in.mu.Lock()
	if in.cause != nil {
		defer in.mu.Unlock()
		return nil, in.cause
	}
	q := in.queues[name]
	if q == nil {
		q = &keyQueue{name: name}
		in.queues[name] = q
	}
	if !q.busy {
		q.busy = true
		in.mu.Unlock()
		return q, nil
	}
	place := make(chan struct{})
	q.places = append(q.places, place)
	in.mu.Unlock()
	var err error
	select {
	case <-place:
		return q, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-in.ctx.Done():
		err = context.Cause(in.ctx)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if i := slices.Index(q.places, place); i >= 0 {
		q.places = slices.Delete(q.places, i, i+1)
	} else {
		in.beginNext(q)
	}
	return nil, err
}

// finish lets the next mutation in the queue start.
func (in *Incarnation) finish(q *keyQueue) {
	in.mu.Lock()
	in.beginNext(q)
	in.mu.Unlock()
}

// beginNext is finish with the lock held, here and below.
func (in *Incarnation) beginNext(q *keyQueue) {
	q.refused = false
	if len(q.places) > 0 {
		place := q.places[0]
		q.places[0] = nil
		q.places = q.places[1:]
		close(place)
		return
	}
	q.busy = false
	q.early = earlyLoss{}
	in.dropIfEmpty(q)
}

// dropIfEmpty removes an empty queue.
func (in *Incarnation) dropIfEmpty(q *keyQueue) {
	if !q.busy && q.waiting == nil && q.lease == nil && in.queues[q.name] == q {
		delete(in.queues, q.name)
	}
}

// removeLease ends the lease, if the queue has a lease.
func (q *keyQueue) removeLease(cause error) {
	if q.lease != nil {
		q.lease.lose(cause)
		q.lease = nil
	}
}
