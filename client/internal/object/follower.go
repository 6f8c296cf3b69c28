package object

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/view"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
)

// Follower has the newest view of a part of an object, and ends the work on the content of a view once a newer view
// has other content.
type Follower struct {
	superseded error // the cause with which work ends
	cancel     context.CancelFunc
	done       chan struct{} // closed when the goroutine that follows has ended
	wake       chan struct{} // a new view may be there; holds one

	mu   sync.Mutex // guards the fields below
	view *view.View
	err  error
	work *work
}

// work is the work on the content of a view.
type work struct {
	same func(v *view.View) bool // the view still has the content
	end  context.CancelCauseFunc
}

// Follow follows a part of the object, until Stop. Work on content that a newer view does not have ends with
// superseded.
func (o *Object) Follow(ctx context.Context, kind protocol.ObjectKind, part string, superseded error) *Follower {
	f := &Follower{superseded: superseded, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	ctx, f.cancel = context.WithCancel(ctx)
	go func() {
		defer close(f.done)
		for v, err := range o.Views(ctx, kind, part) {
			f.show(v, err)
		}
	}()
	return f
}

// show makes a view the newest.
func (f *Follower) show(v *view.View, err error) {
	f.mu.Lock()
	f.view, f.err = v, err
	if w := f.work; w != nil && (err != nil || !w.same(v)) {
		f.work = nil
		w.end(f.superseded)
	}
	f.mu.Unlock()
	f.WakeUp()
}

// WakeUp makes the loop of Next look again.
func (f *Follower) WakeUp() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Stop ends the following.
func (f *Follower) Stop() {
	f.cancel()
	<-f.done
}

// Next waits for a new view, for a WakeUp, or until atMost has passed, if atMost is not negative. It returns the
// newest view, nil if no view has come so far.
func (f *Follower) Next(ctx context.Context, atMost time.Duration) (*view.View, error) {
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

// Begin returns a context for work on the content of a view. The context ends with ctx, by end, and with the first
// view that is not the same.
func (f *Follower) Begin(
	ctx context.Context, same func(v *view.View) bool,
) (worked context.Context, end context.CancelCauseFunc) {
	worked, end = context.WithCancelCause(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil || !same(f.view) {
		end(f.superseded)
	} else {
		f.work = &work{same, end}
	}
	return worked, end
}

// Within returns a context that ends with the other context too, with the cause of the other.
func Within(ctx, other context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Head reads the head of a view. If the view has no head, into stays as it is.
func Head(v *view.View, into field.Value) error {
	if !v.Exists || len(v.Data) == 0 {
		return nil
	}
	if err := protocol.ReadRecord(v.Data, into, 0); err != nil {
		return fmt.Errorf("%w: cannot read a view: %w", client.ErrInternal, err)
	}
	return nil
}
