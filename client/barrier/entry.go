package barrier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/process"
)

// Entry represents a party inside the barrier, from Enter to Leave. An Entry is safe for concurrent use.
type Entry struct {
	party      *party
	membership *process.Membership
	self       uint64
	generation uint64
	index      int
	inside     []uint64 // the whole generation
	ctx        context.Context
	end        context.CancelCauseFunc
}

func newEntry(p *party, r *process.Round, d decision, index int) *Entry {
	e := &Entry{
		party: p, membership: r.Membership(), self: r.Self(), generation: d.Generation, index: index, inside: d.Inside,
	}
	e.ctx, e.end = context.WithCancelCause(context.Background())
	context.AfterFunc(e.membership.Context(), e.lose)
	return e
}

// Generation returns the generation number, which increases with each generation and serves as the fencing token.
func (e *Entry) Generation() uint64 { return e.generation }

// Index returns the party's index in its generation, starting at 0, in arrival order.
func (e *Entry) Index() int { return e.index }

// Context returns a context that ends when the party leaves or, with ErrLost in the cause, when its position is lost.
//
// While this process runs, the context ends before the next generation is let in. A paused process may see the end too
// late; Err checks the clock.
func (e *Entry) Context() context.Context { return e.ctx }

// Err checks the clock. It returns nil while the party is inside, ErrLost if the position is lost, and process.ErrLeft
// after Leave.
func (e *Entry) Err() error {
	if lost := e.membership.Err(); lost != nil {
		e.end(fmt.Errorf("%w: %w", ErrLost, lost))
	}
	if e.ctx.Err() == nil {
		return nil
	}
	return failure.OfName("barrier", "be inside", e.party.barrier.name, context.Cause(e.ctx))
}

// lose ends the entry because the membership ended. A recreated session would join again needlessly, so the party
// leaves. If Enter has not returned yet, Enter leaves.
func (e *Entry) lose() {
	e.end(fmt.Errorf("%w: %w", ErrLost, e.membership.Err()))
	e.party.mu.Lock()
	m := e.party.member
	e.party.mu.Unlock()
	if m != nil {
		_ = m.Leave(context.Background())
	}
}

// Leave leaves the barrier and waits until the whole generation has left or died. If the context ends first, the party
// has left anyway; call Leave again to continue waiting. Leave returns ErrLost if the position was lost earlier.
//
// Leave starts following the other parties before this party leaves, so that leaving and the first look at the others
// share a round trip.
func (e *Entry) Leave(ctx context.Context) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	out := make(chan error, 1)
	go func() { out <- e.awaitOthers(following) }()
	err := e.leave(ctx)
	if err == nil {
		err = <-out
	}
	return failure.OfName("barrier", "leave", e.party.barrier.name, err)
}

// leave ends the party's membership.
func (e *Entry) leave(ctx context.Context) error {
	e.party.finish()
	lost := e.Err()
	e.end(process.ErrLeft)
	if errors.Is(lost, ErrLost) {
		return context.Cause(e.ctx)
	}
	return e.party.member.Leave(ctx)
}

// awaitOthers waits until no party from the generation is a member. The followed state may come from a host that is
// behind, so a state counts only if it shows the generation's epoch or a later epoch. A party that is absent then has
// left for good.
func (e *Entry) awaitOthers(ctx context.Context) error {
	p := e.party.barrier.process
	for state, err := range p.WatchAll(ctx) {
		if err == nil && state.Epoch < e.generation {
			state, err = p.Describe(ctx, process.Consistency(client.Strict))
		}
		switch {
		case errors.Is(err, process.ErrNotFound) && !errors.Is(err, client.ErrNodeNotFound):
			return nil // the process was deleted with all members
		case err != nil:
			return err
		case !e.hasOthers(state):
			return nil
		}
	}
	return context.Cause(ctx)
}

// hasOthers reports whether any party from the generation is a member.
func (e *Entry) hasOthers(s *process.State) bool {
	return slices.ContainsFunc(e.inside, func(id uint64) bool { return s.Member(id) != nil })
}

// do runs a function and leaves.
func (e *Entry) do(ctx context.Context, fn func(ctx context.Context, e *Entry) error) error {
	running, end := context.WithCancelCause(ctx)
	unbind := context.AfterFunc(e.ctx, func() { end(context.Cause(e.ctx)) })
	leave := func() error {
		unbind()
		end(nil)
		if ctx.Err() == nil {
			return e.Leave(ctx)
		}
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		return e.leave(bye)
	}
	returned := false
	defer func() {
		if !returned {
			_ = leave() // the function panics
		}
	}()
	err := fn(running, e)
	returned = true
	if left := leave(); err == nil || errors.Is(left, ErrLost) && !errors.Is(err, ErrLost) {
		err = errors.Join(err, left)
	}
	return err
}
