package rollout

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/view"
)

// watchGap is at least between two states of a Watch: each is read, and a burst of reports changes a rollout often.
const watchGap = 100 * time.Millisecond

// Watch returns the states of the rollout, for a screen: the present one first, and then the newest whenever it has
// changed, with the reasons why it does not move, and at least so often, because time alone changes phases, reasons and
// ages; 0 leaves that out. The rollout need not exist.
//
// The loop ends with an error when the context ends, the node is dropped, or the client is closed; lost connections do
// not end it.
func (r *Rollout) Watch(ctx context.Context, every time.Duration) iter.Seq2[*State, error] {
	return func(yield func(*State, error) bool) {
		f := r.follow(ctx, "")
		defer f.stop()
		if every <= 0 {
			every = -1
		}
		for {
			v, err := f.next(ctx, every)
			if v == nil && err == nil {
				continue
			}
			var s *State
			if err == nil {
				s, err = r.stateOf(ctx, v)
			}
			if !yield(s, failed("watch", r.name, err)) || err != nil {
				return
			}
			select {
			case <-time.After(watchGap):
			case <-ctx.Done():
			}
		}
	}
}

// stateOf reads the state that a view shows, or a newer one.
func (r *Rollout) stateOf(ctx context.Context, v *view.View) (*State, error) {
	if !v.Exists {
		return &State{Revision: v.Revision}, nil
	}
	s, err := r.Describe(ctx, WithReasons())
	if err == nil && s.Revision < v.Revision {
		s, err = r.Describe(ctx, WithReasons(), Consistency(client.Strict))
	}
	if errors.Is(err, ErrNotFound) && !errors.Is(err, client.ErrNodeNotFound) {
		return &State{Revision: v.Revision}, nil
	}
	return s, err
}
