package process

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/view"
	"github.com/signalbox/signalbox/protocol"
)

// watchGap is at least between two states of a Watch: each is read, and a round changes a process often.
const watchGap = 100 * time.Millisecond

// Watch returns the states of the process, for a screen: the present one first, and then the newest whenever it has
// changed, with the reasons why the round does not move, and at least so often, because time alone changes reasons and
// ages; 0 leaves that out. The process need not exist.
//
// The loop ends with an error when the context ends, the node is dropped, or the client is closed; lost connections do
// not end it.
func (p *Process) Watch(ctx context.Context, every time.Duration) iter.Seq2[*State, error] {
	return func(yield func(*State, error) bool) {
		f := p.object.Follow(ctx, protocol.ObjectProcess, "", ErrCancelled)
		defer f.Stop()
		if every <= 0 {
			every = -1
		}
		for {
			v, err := f.Next(ctx, every)
			if v == nil && err == nil {
				continue
			}
			var s *State
			if err == nil {
				s, err = p.stateOf(ctx, v)
			}
			if !yield(s, failed("watch", p.Name(), err)) || err != nil {
				return
			}
			_ = pause(ctx, watchGap)
		}
	}
}

// stateOf reads the state that a view shows, or a newer one.
func (p *Process) stateOf(ctx context.Context, v *view.View) (*State, error) {
	if !v.Exists {
		return &State{Revision: v.Revision}, nil
	}
	s, err := p.Describe(ctx, WithReasons())
	if err == nil && s.Revision < v.Revision {
		s, err = p.Describe(ctx, WithReasons(), Consistency(client.Strict))
	}
	if errors.Is(err, ErrNotFound) && !errors.Is(err, client.ErrNodeNotFound) {
		return &State{Revision: v.Revision}, nil
	}
	return s, err
}

// WatchResults returns the results of the process with their payloads, each once, in the order of their epochs: those
// that are kept first, and then each that comes. A loop that is slow misses those that are not kept any more. The
// process need not exist. Result.Decode reads them as MsgPack.
//
// The loop ends with an error as that of Watch does.
func (p *Process) WatchResults(ctx context.Context) iter.Seq2[*Result, error] {
	return func(yield func(*Result, error) bool) {
		key, err := p.object.ViewKey(ctx, protocol.ObjectProcess, "results")
		if err != nil {
			yield(nil, failed("watch", p.Name(), err))
			return
		}
		last := uint64(0)
		for v, err := range p.object.Node.Client().Watches.Views(ctx, key) {
			if err != nil {
				yield(nil, failed("watch", p.Name(), err))
				return
			}
			for row := range v.Rows.All() {
				var m protocol.ProcessResult
				if err := protocol.ReadRecord(row.Body, &m); err != nil {
					yield(nil, failed("watch", p.Name(), err))
					return
				}
				if m.Epoch <= last {
					continue
				}
				last = m.Epoch
				if r := resultOf(&m, 0); !yield(&r, nil) {
					return
				}
			}
		}
	}
}
