package process_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestARequestIsNotHandledAfterItsEpoch: the request waits behind a different request when the epoch ends.
func TestARequestIsNotHandledAfterItsEpoch(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		g.create(process.Spec{MinMembers: 2})
		sent := make(chan struct{}, 1)
		g.join("a", process.Handler{Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			if len(sent) > 0 {
				return nil, nil
			}
			for range 2 {
				if _, err := r.Start(ctx, "work", process.Others()); err != nil {
					return nil, err
				}
			}
			sent <- struct{}{}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
		b := g.join("b", process.Handler{
			Request: func(ctx context.Context, _ *process.Round, _ *process.Request) (any, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			},
		}, process.Observer())
		b.await("process 1")
		clienttest.WaitForQuiet()
		clienttest.Check(t, g.process.Restart(t.Context(), by))
		b.await("complete 2")
		b.checkSeen("prepare 1", "process 1", "cancel 1", "prepare 2", "complete 2")
	})
}

// TestCoordinateReturnsBeforeCancel: Cancel does not undo work still running in Coordinate.
func TestCoordinateReturnsBeforeCancel(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		returned := false
		a := g.join("a", process.Handler{
			Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
				if returned {
					return nil, nil
				}
				_, err := r.Send(ctx, r.Self(), "work") // the function yields its turn
				time.Sleep(time.Second)
				returned = true
				return nil, err
			},
			Request: func(ctx context.Context, _ *process.Round, _ *process.Request) (any, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			},
			Cancel: func(*process.Round) {
				if !returned {
					t.Error("Coordinate has not returned")
				}
			},
		})
		a.await("process 1")
		clienttest.Check(t, g.process.Restart(t.Context(), by))
		a.await("complete 2")
		a.checkSeen("prepare 1", "coordinate 1", "process 1", "cancel 1", "prepare 2", "coordinate 2", "complete 2")
	})
}

// TestWhatIsNotHandledTakesRoom: each request, from any sender, takes space in the member's inbox until the reply, even
// while waiting behind other requests. A reply makes space for exactly one more.
func TestWhatIsNotHandledTakesRoom(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		const room = 256
		g.create(process.Spec{MinMembers: 3})
		goOn := make(chan struct{}, room+1)
		full := make(chan struct{})
		g.join("a", process.Handler{Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
			members, err := r.Members(ctx)
			if err != nil {
				return nil, err
			}
			var open []*process.Exchange
			for range room {
				x, err := r.Start(ctx, nil, process.To(members[1].ID))
				if err != nil {
					return nil, err
				}
				open = append(open, x)
			}
			close(full)
			for _, x := range open {
				if _, err := x.Wait(ctx); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}})
		b := g.join("b", process.Handler{
			Request: func(context.Context, *process.Round, *process.Request) (any, error) {
				<-goOn
				return nil, nil
			},
		}, process.Observer())
		c := g.join("c", process.Handler{}, process.Observer())
		receive(t, full)
		r, err := c.Round(t.Context())
		clienttest.Check(t, err)
		goOn <- struct{}{}
		clienttest.WaitForQuiet()
		for _, want := range []error{nil, client.ErrOverloaded} {
			if _, err := r.Start(t.Context(), nil, process.To(b.ID())); !errors.Is(err, want) {
				t.Errorf("one more: %v, and not %v", err, want)
			}
		}
		for range room {
			goOn <- struct{}{}
		}
		b.awaitResult()
		if n := b.count("process"); n != room+1 {
			t.Errorf("%d requests were handled", n)
		}
	})
}
