package process

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/signalbox/signalbox/client"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// preparing is set in Prepare's context. Prepare cannot send: a request would wait for Prepare to return.
type preparing struct{}

// handlerOf stores the member in the contexts of all handler functions.
type handlerOf struct{}

// handleAll handles items one by one until the queue is empty.
func (p *part) handleAll() {
	for it := p.next(); it != nil; it = p.next() {
		p.handle(it)
		p.finish(it)
	}
}

// next takes the next item. If the queue is empty, next returns nil, and the handling goroutine ends.
func (p *part) next() *item {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.queue, p.running = nil, false
		return nil
	}
	it := p.queue[0]
	p.queue[0] = nil
	p.queue = p.queue[1:]
	p.handling = it
	return it
}

// finish records that an item was handled. Later commands acknowledge the item.
func (p *part) finish(it *item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handling == it {
		p.handling = nil
		p.count(it.bytes)
	}
}

func (p *part) handle(it *item) {
	switch {
	case it.over:
		p.terminate()
	case it.kind == kind.ItemCancel:
		if p.current != nil && p.current.epoch <= it.epoch {
			p.cancel()
		}
	case it.round == nil: // from an epoch that the member was not prepared for
	case it.kind == kind.ItemPrepare:
		p.prepare(it)
	case it.round != p.current: // the round is over
	case it.kind == kind.ItemCoordinate:
		p.startCoordinate(it)
	case it.kind == kind.ItemRequest:
		p.process(it)
	case it.kind == kind.ItemComplete:
		p.handleComplete(it)
	}
}

// prepare begins a round, unless the round is over already.
func (p *part) prepare(it *item) {
	r := it.round
	p.cancel()
	if r.ctx.Err() != nil {
		return
	}
	p.current = r
	var err error
	if f := p.member.handler.Prepare; f != nil {
		ctx := context.WithValue(p.mark(r.ctx), preparing{}, r)
		err = p.call("Prepare", func() error { return f(ctx, r) })
	}
	p.finish(it)
	if r.ctx.Err() != nil {
		return
	}
	p.post(func(ctx context.Context) error {
		if err != nil {
			return p.fail(ctx, r, err)
		}
		err := p.prepared(ctx, r)
		if err == nil {
			close(r.prepared)
			p.member.notify()
		}
		return err
	})
}

// cancel ends the round that was started but not completed, if any.
func (p *part) cancel() {
	r := p.current
	if r == nil {
		return
	}
	r.end(ErrCancelled)
	p.awaitCoordinate()
	p.current = nil
	if f := p.member.handler.Cancel; f != nil {
		_ = p.call("Cancel", func() error {
			f(r)
			return nil
		})
	}
}

// awaitCoordinate waits until Coordinate has returned, if Coordinate was called.
func (p *part) awaitCoordinate() {
	if p.coordinating != nil {
		<-p.coordinating
		p.coordinating = nil
	}
}

// startCoordinate has the round coordinated, while the next items are handled.
func (p *part) startCoordinate(it *item) {
	p.finish(it)
	if it.round.ctx.Err() != nil || p.coordinating != nil {
		return
	}
	done := make(chan struct{})
	p.coordinating = done
	ctx, h := p.turn.hold(p.mark(it.round.ctx)) // here, so that Coordinate runs before later functions
	go func() {
		defer close(done)
		p.coordinate(ctx, h, it.round)
	}()
}

func (p *part) coordinate(ctx context.Context, h *holding, r *Round) {
	var result any
	err := p.guard("Coordinate", func() (err error) {
		defer h.end()
		result, err = p.member.handler.Coordinate(ctx, r)
		return err
	})
	data, bad := encode(p.member.config.codec, result)
	if err == nil {
		err = bad
	}
	if r.ctx.Err() != nil {
		return
	}
	p.post(func(ctx context.Context) error {
		failure := err
		if failure == nil {
			refused := p.complete(ctx, r, data)
			if !errors.Is(refused, client.ErrBadRequest) {
				return refused
			}
			failure = fmt.Errorf("the result was rejected: %w", refused)
		}
		return p.fail(ctx, r, failure)
	})
}

// process handles a request.
func (p *part) process(it *item) {
	r, q := it.round, it.request
	if r.ctx.Err() != nil {
		return
	}
	var reply any
	err := errNoProcess
	if f := p.member.handler.Request; f != nil {
		ctx := p.mark(r.ctx)
		err = p.call("Process", func() (err error) {
			reply, err = f(ctx, r, q)
			return err
		})
	}
	p.finish(it)
	if err == nil && q.deferred.Load() || r.ctx.Err() != nil || q.replied.Swap(true) {
		return
	}
	data, bad := encode(q.codec, reply)
	if err == nil {
		err = bad
	}
	p.post(func(ctx context.Context) error { return q.reply(ctx, data, err) })
}

var errNoProcess = errors.New("this member handles no requests")

// handleComplete handles a round's completion.
func (p *part) handleComplete(it *item) {
	r := it.round
	p.awaitCoordinate()
	p.current = nil
	if f := p.member.handler.Complete; f != nil {
		ctx := p.mark(p.ctx)
		_ = p.call("Complete", func() error {
			f(ctx, r, it.result)
			return nil
		})
	}
	p.finish(it)
	p.member.completed(it.result)
	if p.ctx.Err() == nil { // no host waits for a leaving member
		go func() { _ = p.completed(p.in.Context(), r) }() // a leaving member does not wait for the answer
	}
}

// terminate ends the membership on this side.
func (p *part) terminate() {
	p.cancel()
	if f := p.member.handler.Terminate; f != nil {
		_ = p.call("Terminate", func() error {
			f()
			return nil
		})
	}
	p.posts.all.Wait()
	p.member.partOver(p)
}

// mark marks a context as a handler function's context.
func (p *part) mark(ctx context.Context) context.Context {
	return context.WithValue(ctx, handlerOf{}, p.member)
}

// call calls a handler function while no other function runs.
func (p *part) call(name string, f func() error) error {
	p.turn.take()
	defer p.turn.give()
	return p.guard(name, f)
}

// guard makes a panic an error.
func (p *part) guard(name string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %v", name, v)
			p.member.object.Session.Client().Log().Error("a process handler panicked",
				"process", p.member.Name(), "function", name, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	return f()
}
