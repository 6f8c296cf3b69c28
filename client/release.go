package client

import (
	"context"

	"github.com/signalbox/signalbox/protocol"
)

// release gives back what the session has of a semaphore: under an order id, or whatever it is where that
// is 0. It goes on in the background where the context ends.
func (x *life) release(ctx context.Context, name string, order uint64) (released bool, err error) {
	if ctx.Err() != nil {
		// It is not tried in the foreground, but it is done, unless the end of the session does it.
		if x.ctx.Err() == nil {
			x.client.spawn(func() { _, _ = x.release(x.ctx, name, order) })
		}
		return false, context.Cause(ctx)
	}
	l, err := x.enter(ctx, name)
	if err != nil {
		if x.ctx.Err() == nil {
			x.client.spawn(func() { _, _ = x.release(x.ctx, name, order) })
		}
		return false, err
	}
	r := x.mutation(l)
	r.useRelease(order)
	err = x.closeRelease(r, r.carry(ctx))
	if err == nil {
		released = r.released
		x.leave(l)
		r.recycle()
		return released, nil
	}
	if x.ctx.Err() == nil && !r.refused() {
		background := x.client.spawn(func() {
			defer x.leave(l)
			_ = x.closeRelease(r, r.carry(x.ctx)) // nobody waits for it any more
		})
		if background {
			return false, err
		}
	}
	x.leave(l)
	return false, err
}

// refused tells whether the host has answered with a failure for good.
func (m *mutation) refused() bool {
	m.life.mu.Lock()
	defer m.life.mu.Unlock()
	return m.phase == answered && !again(m.result.Status)
}

// change carries a mutation that needs no undoing: where it is given up, it has taken effect or not.
func (x *life) change(ctx context.Context, name string, use func(m *mutation)) error {
	l, err := x.enter(ctx, name)
	if err != nil {
		return err
	}
	m := x.mutation(l)
	use(m)
	err = m.carry(ctx)
	if err == nil {
		x.leave(l)
		m.recycle()
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if m.phase == sent && x.cause == nil && x.client.spawn(func() { x.close(m) }) {
		return err
	}
	m.giveUp()
	x.pass(l)
	return err
}

// close keeps the lane closed until what was sent is answered, or can be no more.
func (x *life) close(m *mutation) {
	m.untilAnswered()
	x.mu.Lock()
	defer x.mu.Unlock()
	m.giveUp()
	x.pass(m.lane)
}

func (x *life) create(ctx context.Context, name string, limit uint64, data []byte) error {
	return x.change(ctx, name, func(m *mutation) {
		m.message, m.numbers = &m.create, &m.create.Mutation
		m.create.NodeID, m.create.Name = x.nodeID, protocol.View(m.lane.name)
		m.create.Limit, m.create.Data = limit, data
	})
}

func (x *life) update(ctx context.Context, name string, data []byte, order, revision uint64) error {
	return x.change(ctx, name, func(m *mutation) {
		m.message, m.numbers = &m.update, &m.update.Mutation
		m.update.NodeID, m.update.Name = x.nodeID, protocol.View(m.lane.name)
		m.update.Data, m.update.OrderID, m.update.ExpectedRevision = data, order, revision
	})
}

func (x *life) resize(ctx context.Context, name string, limit, revision uint64) error {
	return x.change(ctx, name, func(m *mutation) {
		m.message, m.numbers = &m.resize, &m.resize.Mutation
		m.resize.NodeID, m.resize.Name = x.nodeID, protocol.View(m.lane.name)
		m.resize.Limit, m.resize.ExpectedRevision = limit, revision
	})
}

func (x *life) remove(ctx context.Context, name string, force bool) error {
	return x.change(ctx, name, func(m *mutation) {
		m.message, m.numbers = &m.remove, &m.remove.Mutation
		m.remove.NodeID, m.remove.Name = x.nodeID, protocol.View(m.lane.name)
		m.remove.Force = force
	})
}
