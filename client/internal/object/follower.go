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

// Follower tracks the newest view of an object section. It ends work on a view's content once a newer view has
// different content.
type Follower struct {
	superseded error // cause with which work ends
	cancel     context.CancelFunc
	done       chan struct{} // closed when the following goroutine has ended
	wake       chan struct{} // a new view may be available; capacity 1

	mu   sync.Mutex // guards the fields below
	view *view.View
	err  error
	work *work
}

// work is ongoing work on a view's content.
type work struct {
	same func(v *view.View) bool // the view still has the content
	end  context.CancelCauseFunc
}

// Follow follows a section of the object until Stop. Work ends with superseded if a newer view lacks the content.
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

// WakeUp makes a loop over Next check again.
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

// Begin returns a context for work on a view's content. The context ends with ctx, when end is called, and at the first
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

// Within returns a context derived from ctx that also ends with other, with other's cause.
func Within(ctx, other context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Head decodes a view's head. If the view has no head, into does not change.
func Head(v *view.View, into field.Value) error {
	if !v.Exists || len(v.Data) == 0 {
		return nil
	}
	if err := protocol.ReadRecord(v.Data, into, 0); err != nil {
		return fmt.Errorf("%w: cannot read a view: %w", client.ErrInternal, err)
	}
	return nil
}
