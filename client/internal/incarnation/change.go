package incarnation

import (
	"context"

	"github.com/signalbox/signalbox/protocol"
)

// messages are the memory of what mutations of semaphores are sent as.
type messages struct {
	acquire protocol.Acquire
	release protocol.Release
	create  protocol.SemaphoreCreate
	update  protocol.SemaphoreUpdate
	resize  protocol.SemaphoreResize
	remove  protocol.SemaphoreDelete
}

// Create creates a semaphore.
func (in *Incarnation) Create(ctx context.Context, name string, limit uint64, data []byte) error {
	return in.change(ctx, name, func(m *mutation) {
		m.message, m.numbers = &m.create, &m.create.Mutation
		m.create.NodeID, m.create.Name = in.nodeID, protocol.View(m.queue.name)
		m.create.Limit, m.create.Data = limit, data
	})
}

// Update replaces the data of a semaphore. An order id or a revision that is not 0 guards it.
func (in *Incarnation) Update(ctx context.Context, name string, data []byte, order, revision uint64) error {
	return in.change(ctx, name, func(m *mutation) {
		m.message, m.numbers = &m.update, &m.update.Mutation
		m.update.NodeID, m.update.Name = in.nodeID, protocol.View(m.queue.name)
		m.update.Data, m.update.OrderID, m.update.ExpectedRevision = data, order, revision
	})
}

// Resize gives a semaphore another limit. A revision that is not 0 guards it.
func (in *Incarnation) Resize(ctx context.Context, name string, limit, revision uint64) error {
	return in.change(ctx, name, func(m *mutation) {
		m.message, m.numbers = &m.resize, &m.resize.Mutation
		m.resize.NodeID, m.resize.Name = in.nodeID, protocol.View(m.queue.name)
		m.resize.Limit, m.resize.ExpectedRevision = limit, revision
	})
}

// Delete deletes a semaphore, with force though it is in use.
func (in *Incarnation) Delete(ctx context.Context, name string, force bool) error {
	return in.change(ctx, name, func(m *mutation) {
		m.message, m.numbers = &m.remove, &m.remove.Mutation
		m.remove.NodeID, m.remove.Name = in.nodeID, protocol.View(m.queue.name)
		m.remove.Force = force
	})
}

// Mutate carries a change of an object of any kind out, once. numbers are those within the message. read copies what is
// wanted out of the answer of a success, on the goroutine that reads the connection; it is not called after Mutate has
// returned.
func (in *Incarnation) Mutate(
	ctx context.Context, name string, message protocol.RequestMessage, numbers *protocol.Mutation,
	read func(a *protocol.Answer),
) error {
	return in.change(ctx, name, func(m *mutation) { m.message, m.numbers, m.read = message, numbers, read })
}

// MutateBeside is Mutate for a change that may be under way beside others of the same object, in any order. Where it is
// impatient a host that is overloaded has refused it.
func (in *Incarnation) MutateBeside(
	ctx context.Context, name string, message protocol.RequestMessage, numbers *protocol.Mutation,
	read func(a *protocol.Answer), impatient bool,
) error {
	return in.changeIn(ctx, &keyQueue{name: name, busy: true}, func(m *mutation) {
		m.message, m.numbers, m.read, m.impatient = message, numbers, read, impatient
	})
}

// change sends a mutation that needs no undoing: where it is given up, it has taken effect or not.
func (in *Incarnation) change(ctx context.Context, name string, use func(m *mutation)) error {
	q, err := in.begin(ctx, name)
	if err != nil {
		return err
	}
	return in.changeIn(ctx, q, use)
}

// changeIn is change for a mutation that has its place in a queue.
func (in *Incarnation) changeIn(ctx context.Context, q *keyQueue, use func(m *mutation)) error {
	m := in.mutation(q)
	use(m)
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

// finishAnswered is finish, once what was sent is answered, or can be no more.
func (in *Incarnation) finishAnswered(m *mutation) {
	m.awaitAnswer()
	in.mu.Lock()
	defer in.mu.Unlock()
	m.dropNumber()
	in.beginNext(m.queue)
}
