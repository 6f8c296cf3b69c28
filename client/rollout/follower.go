package rollout

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/view"
	"github.com/signalbox/signalbox/protocol"
)

// follower has the newest view of a part of a rollout, and ends the work on what a view showed once a newer one shows
// something else.
type follower struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine that follows has ended
	wake   chan struct{} // there may be something new; holds one

	mu   sync.Mutex // guards what follows
	view *view.View
	err  error
	work *work
}

// work is what is done about a view.
type work struct {
	same func(v *view.View) bool // a view does not change what it is about
	end  context.CancelCauseFunc
}

// follow follows a part of the rollout, until stop.
func (r *Rollout) follow(ctx context.Context, part string) *follower {
	f := &follower{done: make(chan struct{}), wake: make(chan struct{}, 1)}
	ctx, f.cancel = context.WithCancel(ctx)
	go func() {
		defer close(f.done)
		f.run(r.views(ctx, part))
	}()
	return f
}

// endsParts reports whether what a session was to the rollout is gone with what a view showed before: nil for a view
// that is the first. One that shows nothing then shows what was removed since the session took its part.
func endsParts(before, now *view.View) bool {
	if before == nil {
		return !now.Exists
	}
	return now.IsAnother(before) || now.Exists != before.Exists
}

// views are those of a part of the rollout.
func (r *Rollout) views(ctx context.Context, part string) iter.Seq2[*view.View, error] {
	return func(yield func(*view.View, error) bool) {
		id, err := r.node.ID(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		key := view.Key{Node: id, Name: r.name, Kind: protocol.ObjectRollout, View: part}
		r.node.Client().Watches.Views(ctx, key)(yield)
	}
}

func (f *follower) run(views iter.Seq2[*view.View, error]) {
	for v, err := range views {
		f.mu.Lock()
		f.view, f.err = v, err
		if w := f.work; w != nil && (err != nil || !w.same(v)) {
			f.work = nil
			w.end(ErrSuperseded)
		}
		f.mu.Unlock()
		f.wakeUp()
	}
}

// wakeUp has the loop of next look again.
func (f *follower) wakeUp() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// stop ends the following.
func (f *follower) stop() {
	f.cancel()
	<-f.done
}

// next waits for a view that it has not returned, for a wakeUp, or until a time has passed, if it is not negative. It
// returns the newest view, nil where there is none yet.
func (f *follower) next(ctx context.Context, atMost time.Duration) (*view.View, error) {
	var timeout <-chan time.Time
	if atMost >= 0 {
		timer := time.NewTimer(atMost)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-f.wake:
	case <-timeout:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view, f.err
}

// begin returns a context for work on what a view shows. It ends with ctx, by end, and when a view is not the same.
func (f *follower) begin(
	ctx context.Context, same func(v *view.View) bool,
) (worked context.Context, end context.CancelCauseFunc) {
	worked, end = context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil || !same(f.view) {
		end(ErrSuperseded)
	} else {
		f.work = &work{same, end}
	}
	return worked, end
}

// head reads the head of a view. It stays as it is where there is none.
func head(v *view.View, into protocol.Record) error {
	if !v.Exists || len(v.Data) == 0 {
		return nil
	}
	if err := protocol.ReadRecord(v.Data, into); err != nil {
		return fmt.Errorf("%w: a view that cannot be read: %w", client.ErrInternal, err)
	}
	return nil
}
