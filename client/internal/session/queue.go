package session

import (
	"context"
	"slices"
)

// keyQueue orders the mutations of one object by a session. At most one mutation of a queue is under way; others wait
// for their places, first come, first served. The lock of the incarnation guards a queue.
type keyQueue struct {
	name   string
	busy   bool
	places []chan struct{} // of the mutations that wait; closed when the mutation may begin
	// refused: a host that has no room, or grants nothing for now, has refused the latest try of the mutation that is
	// under way.
	refused bool

	waiting *mutation // the acquire that is queued at the host
	lease   *Lease    // the lease of the session
	// early is a loss that was reported before the answer to the acquire of the lost lease.
	early earlyLoss
}

type earlyLoss struct {
	order uint64
	cause error
}

// begin waits until a mutation of the semaphore may be sent. After the mutation the caller calls finish.
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

// finish lets the next mutation of the queue begin.
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

// dropIfEmpty forgets a queue that has nothing in it.
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
