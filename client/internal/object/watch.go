package object

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/view"
	"github.com/signalbox/signalbox/protocol"
)

// watchGap is the minimum time between two states in a Watch, because every state costs a read and an object can change
// often.
const watchGap = 100 * time.Millisecond

// States reads an object's states. A missing object has an empty state.
type States[S any] struct {
	Describe func(ctx context.Context, options ...ReadOption) (*S, error)
	// Revision points to the revision in a state.
	Revision func(*S) *uint64
}

// Watch returns the states of an object: the current state first, and then the newest state whenever the object has
// changed, at least once per interval every. If every is 0, only changes count.
func Watch[S any](
	ctx context.Context, o *Object, kind protocol.ObjectKind, every time.Duration, states States[S],
) iter.Seq2[*S, error] {
	return func(yield func(*S, error) bool) {
		f := o.Follow(ctx, kind, "", nil)
		defer f.Stop()
		if every <= 0 {
			every = -1
		}
		for {
			v, err := f.Next(ctx, every)
			if v == nil && err == nil {
				continue
			}
			var s *S
			if err == nil {
				s, err = states.of(ctx, v)
			}
			if !yield(s, err) || err != nil {
				return
			}
			select {
			case <-time.After(watchGap):
			case <-ctx.Done():
			}
		}
	}
}

// of reads the state for a view, or a newer state. A strict read includes everything that was shown before.
func (st *States[S]) of(ctx context.Context, v *view.View) (*S, error) {
	if !v.Exists {
		return st.none(v), nil
	}
	s, err := st.Describe(ctx, WithReasons())
	if err == nil && *st.Revision(s) < v.Revision {
		s, err = st.Describe(ctx, WithReasons(), Consistency(client.Strict))
	}
	if errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrNodeNotFound) {
		return st.none(v), nil
	}
	return s, err
}

// none is the state of an object that is missing in a view.
func (st *States[S]) none(v *view.View) *S {
	s := new(S)
	*st.Revision(s) = v.Revision
	return s
}
