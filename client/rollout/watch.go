package rollout

import (
	"context"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Watch returns the states of the rollout, for a screen: the present one first, and then the newest whenever it has
// changed, with the reasons why it does not move, and at least so often, because time alone changes phases, reasons and
// ages; 0 leaves that out. The rollout need not exist.
//
// The loop ends with an error when the context ends, the node is dropped, or the client is closed; lost connections do
// not end it.
func (r *Rollout) Watch(ctx context.Context, every time.Duration) iter.Seq2[*State, error] {
	states := object.States[State]{
		Read: func(ctx context.Context, mode ...client.Consistency) (*State, uint64, error) {
			options := []ReadOption{WithReasons()}
			for _, m := range mode {
				options = append(options, Consistency(m))
			}
			s, err := r.Describe(ctx, options...)
			if err != nil {
				return nil, 0, err
			}
			return s, s.Revision, nil
		},
		None: func(revision uint64) *State { return &State{Revision: revision} },
	}
	return object.WithErrors(object.Watch(ctx, &r.object, protocol.ObjectRollout, every, states),
		func(err error) error { return failed("watch", r.Name(), err) })
}
