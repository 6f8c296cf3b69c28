package session

import (
	"context"

	"github.com/signalbox/signalbox/protocol"
)

// Create creates a semaphore.
func (in *Incarnation) Create(ctx context.Context, name string, limit uint64, data []byte) error {
	return in.Mutate(ctx, name, &protocol.SemaphoreCreate{
		NodeID: in.nodeID, Name: protocol.View(name), Limit: limit, Data: data,
	}, nil)
}

// Update replaces a semaphore's data. A nonzero order id or revision guards the update.
func (in *Incarnation) Update(ctx context.Context, name string, data []byte, order, revision uint64) error {
	return in.Mutate(ctx, name, &protocol.SemaphoreUpdate{
		NodeID: in.nodeID, Name: protocol.View(name), Data: data, OrderID: order, ExpectedRevision: revision,
	}, nil)
}

// Resize changes a semaphore's limit. A nonzero revision guards the change.
func (in *Incarnation) Resize(ctx context.Context, name string, limit, revision uint64) error {
	return in.Mutate(ctx, name, &protocol.SemaphoreResize{
		NodeID: in.nodeID, Name: protocol.View(name), Limit: limit, ExpectedRevision: revision,
	}, nil)
}

// Delete deletes a semaphore, with force even a semaphore in use.
func (in *Incarnation) Delete(ctx context.Context, name string, force bool) error {
	m := &protocol.SemaphoreDelete{NodeID: in.nodeID, Name: protocol.View(name), Force: force}
	return in.Mutate(ctx, name, m, nil)
}

// Mutate applies a change to an object with any kind, exactly once. The change needs no undo: an abandoned change has
// either taken effect or not. read copies data out of a success response, in the goroutine that reads the connection;
// read is not called after Mutate has returned.
func (in *Incarnation) Mutate(
	ctx context.Context, name string, message protocol.MutationMessage, read func(a *protocol.Answer),
) error {
	q, err := in.begin(ctx, name)
	if err != nil {
		return err
	}
	return in.mutateIn(ctx, q, message, read, false)
}

// MutateBeside is Mutate for a change that may run concurrently with other changes to the object, in any order. An
// impatient change is rejected by an overloaded host and not sent again.
func (in *Incarnation) MutateBeside(
	ctx context.Context, name string, message protocol.MutationMessage, read func(a *protocol.Answer), impatient bool,
) error {
	return in.mutateIn(ctx, &keyQueue{name: name, busy: true}, message, read, impatient)
}

// mutateIn is Mutate for a change with a position in a queue.
func (in *Incarnation) mutateIn(
	ctx context.Context, q *keyQueue, message protocol.MutationMessage, read func(a *protocol.Answer), impatient bool,
) error {
	m := in.group.mutations.Get().(*mutation)
	m.in, m.queue = in, q
	m.message, m.numbers, m.read, m.impatient = message, message.Header(), read, impatient
	err := m.sendUntilAnswered(ctx)
	if err == nil {
		in.finish(q)
		m.recycle()
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	m.read = nil
	if m.phase == sent && in.cause == nil && in.group.scope.Go(func() { in.finishAnswered(m) }) {
		return err
	}
	m.dropNumber()
	in.beginNext(q)
	return err
}

// finishAnswered calls finish once the mutation is answered or can no longer be answered.
func (in *Incarnation) finishAnswered(m *mutation) {
	m.awaitAnswer()
	in.mu.Lock()
	defer in.mu.Unlock()
	m.dropNumber()
	in.beginNext(m.queue)
}
