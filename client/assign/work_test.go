package assign

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/process"
)

// tenure is a membership.
type tenure struct{ ctx context.Context }

func (t *tenure) Context() context.Context { return t.ctx }
func (t *tenure) Err() error               { return context.Cause(t.ctx) }

// TestWorkOnAPart covers all states of the work on one part.
func TestWorkOnAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan context.Context, 1)
		returns := make(chan error)
		running := 0
		d := &desk{
			backoff: retry.Backoff{First: time.Second, Most: time.Second}, jobs: make(map[string]*job),
			work: func(ctx context.Context, _ Partition) error {
				if running++; running != 1 {
					t.Error("the function runs twice at a time")
				}
				defer func() { running-- }()
				began <- ctx
				return <-returns
			},
		}
		ctx, end := context.WithCancelCause(t.Context())
		one, two := &tenure{ctx}, &tenure{t.Context()}
		p := Partition{"x", 5}
		begins := func(what string) context.Context {
			t.Helper()
			select {
			case ctx := <-began:
				return ctx
			case <-time.After(time.Minute):
				t.Fatalf("%s: the function is not called", what)
				return nil
			}
		}
		holds := func(what string, by membership, want ...OwnedPartition) {
			t.Helper()
			same := func(a, b OwnedPartition) bool {
				return a.Partition == b.Partition && a.Stopping == b.Stopping && a.Ended == b.Ended &&
					errors.Is(a.Err, b.Err)
			}
			synctest.Wait()
			if got := d.held(by); !slices.EqualFunc(got, want, same) {
				t.Errorf("%s: it holds %v, want %v", what, got, want)
			}
		}

		d.start(one, p)
		begins("started")
		d.start(one, Partition{"x", 6}) // the work continues under its token
		holds("started", one, OwnedPartition{Partition: p})

		broken := errors.New("broken")
		returns <- broken
		begins("it has returned by itself")
		holds("it has returned by itself", one, OwnedPartition{Partition: p, Ended: 1, Err: broken})

		stopped := d.stop([]string{"x", "y"})
		brief, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := await(brief, stopped); len(stopped) != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it is stopped before the function has returned: %v", err)
		}
		holds("it is stopping", one, OwnedPartition{Partition: p, Stopping: true, Ended: 1, Err: broken})

		d.start(one, Partition{"x", 8}) // the part is given back
		holds("given back", one, OwnedPartition{Partition: Partition{"x", 8}})
		returns <- nil
		second := begins("given back")
		if err := await(t.Context(), stopped); err != nil {
			t.Error(err)
		}

		end(process.ErrEvicted)
		if !errors.Is(context.Cause(second), process.ErrEvicted) {
			t.Errorf("the membership is over: %v", context.Cause(second))
		}
		d.start(two, Partition{"x", 9}) // by the next membership, while the function has not returned
		holds("what another membership has", one)
		holds("what the next one has", two, OwnedPartition{Partition: Partition{"x", 9}})
		returns <- nil
		third := begins("by the next membership")
		if err := Err(third); err != nil || Err(second) == nil || Err(t.Context()) == nil {
			t.Errorf("the part is not the member's: %v", err)
		}

		stopped = d.close()
		if d.start(two, Partition{"z", 9}) || !d.isClosed() {
			t.Error("work begins on a desk that is closed")
		}
		if !errors.Is(context.Cause(third), process.ErrLeft) {
			t.Errorf("it has left: %v", context.Cause(third))
		}
		returns <- nil
		if err := await(t.Context(), stopped); err != nil {
			t.Error(err)
		}
		holds("closed", two)
	})
}
