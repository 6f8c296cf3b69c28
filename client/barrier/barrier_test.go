package barrier_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/barrier"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

func TestNoneIsLetInBeforeAllHaveEntered(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a, b := g.enter(t, 3), g.enter(t, 3)
		waits(t, a, b)
		c := g.enter(t, 3)
		entries := []*barrier.Entry{a.isIn(), b.isIn(), c.isIn()}
		for i, e := range entries {
			if e.Generation() != entries[0].Generation() || e.Generation() == 0 || e.Index() != i {
				t.Errorf("party %d is number %d of generation %d", i, e.Index(), e.Generation())
			}
		}
	})
}

func TestNoneIsLetOutBeforeAllLeave(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a, b, c := g.enter(t, 3), g.enter(t, 3), g.enter(t, 3)
		x, y, z := a.isIn(), b.isIn(), c.isIn()
		left := leave(t.Context(), x, z)
		time.Sleep(never)
		synctest.Wait()
		if len(left) > 0 {
			t.Fatalf("it is out while one is inside: %v", <-left)
		}
		if !errors.Is(x.Err(), process.ErrLeft) || x.Context().Err() == nil {
			t.Errorf("it has left and is inside: %v", x.Err())
		}
		haveLeft(t, leave(t.Context(), y), 1)
		haveLeft(t, left, 2)
		haveLeft(t, leave(t.Context(), x), 1) // again
		g.isEmpty(t)
	})
}

func TestPartiesEnterAgainAndGenerationsGrow(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		const parties, rounds = 3, 20
		inside := make(chan uint64, parties*rounds)
		done := make(chan error, parties)
		for range parties {
			p := g.party(t, parties)
			go func() {
				var err error
				for i := 0; i < rounds && err == nil; i++ {
					err = p.barrier.Do(t.Context(), func(_ context.Context, e *barrier.Entry) error {
						inside <- e.Generation()
						return nil
					})
				}
				done <- err
			}()
		}
		for range parties {
			clienttest.Check(t, <-done)
		}
		last := uint64(0)
		for range rounds {
			generation := <-inside
			if generation <= last {
				t.Fatalf("generation %d comes after %d", generation, last)
			}
			for range parties - 1 {
				if g := <-inside; g != generation {
					t.Fatalf("generation %d is inside together with %d", g, generation)
				}
			}
			last = generation
		}
		g.isEmpty(t)
	})
}

// TestMoreThanTheBarrierIsFor: other products fail with "Count (4) is greater than memberQty (3)". Here the surplus
// parties enter the next generation.
func TestMoreThanTheBarrierIsFor(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		var all []*party
		for range 5 {
			all = append(all, g.enter(t, 2))
		}
		a, b := all[0].isIn(), all[1].isIn()
		waits(t, all[2:]...)
		left := leave(t.Context(), a)
		waits(t, all[2:]...) // one is inside
		haveLeft(t, leave(t.Context(), b), 1)
		haveLeft(t, left, 1)
		c, d := all[2].isIn(), all[3].isIn()
		if c.Generation() != d.Generation() || c.Generation() <= a.Generation() {
			t.Errorf("generation %d, %d after %d", c.Generation(), d.Generation(), a.Generation())
		}
		waits(t, all[4])
		haveLeft(t, leave(t.Context(), c, d), 2)
		waits(t, all[4])
		all[0].enter(t.Context())
		if e := all[4].isIn(); e.Index() != 0 || all[0].isIn().Index() != 1 {
			t.Error("who has come later is before one who has waited")
		}
	})
}

// TestATimeoutLeavesNothingBehind: in other products a timed-out party still counts, and a single party passes.
func TestATimeoutLeavesNothingBehind(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a, b, c := g.party(t, 3), g.party(t, 3), g.party(t, 3)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		a.enter(ctx)
		b.enter(ctx)
		for _, p := range []*party{a, b} {
			if err := p.fails(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it gave up with %v", err)
			}
		}
		g.isEmpty(t)
		c.enter(t.Context())
		waits(t, c)
		a.enter(t.Context())
		b.enter(t.Context())
		c.isIn()
	})
}

// TestATimeoutOfLeave: other products loop without end.
func TestATimeoutOfLeave(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a, b := g.enter(t, 2), g.enter(t, 2)
		x, y := a.isIn(), b.isIn()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := x.Leave(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the other is inside, and it is out with %v", err)
		}
		again := leave(t.Context(), x)
		haveLeft(t, leave(t.Context(), y), 1) // it has left
		haveLeft(t, again, 1)
	})
}

func TestAnotherNumberOfPartiesIsRefused(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a := g.enter(t, 2)
		for _, n := range []int{1, 3} {
			if err := g.enter(t, n).fails(); !errors.Is(err, client.ErrPreconditionFailed) {
				t.Errorf("a barrier for 2 is entered as one for %d: %v", n, err)
			}
		}
		waits(t, a)
		for _, n := range []int{0, -1, 2001} {
			if err := g.enter(t, n).fails(); !errors.Is(err, client.ErrBadRequest) {
				t.Errorf("a barrier for %d is entered: %v", n, err)
			}
		}
		g.enter(t, 2).isIn()
		a.isIn()
	})
}

func TestASessionIsOneParty(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a := g.enter(t, 2)
		if _, err := barrier.New(a.session, name, 2).Enter(t.Context()); !errors.Is(err, process.ErrJoined) {
			t.Errorf("it enters twice: %v", err)
		}
		waits(t, a)
		g.enter(t, 2).isIn()
		a.isIn()
	})
}

func TestDo(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		broken := errors.New("broken")
		for _, c := range []struct {
			what string
			fn   func(ctx context.Context, g *stage, p *party) error
			want error
		}{
			{"it is done", func(context.Context, *stage, *party) error { return nil }, nil},
			{"it fails", func(context.Context, *stage, *party) error { return broken }, broken},
			{"its place is lost", func(ctx context.Context, g *stage, p *party) error {
				g.Destroy(p.session)
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), barrier.ErrLost) {
					t.Errorf("its context ends with %v", context.Cause(ctx))
				}
				return nil
			}, barrier.ErrLost},
			{"its place is lost and it fails", func(ctx context.Context, g *stage, p *party) error {
				g.Destroy(p.session)
				<-ctx.Done()
				return broken
			}, broken},
		} {
			p := g.party(t, 1)
			err := p.barrier.Do(t.Context(), func(ctx context.Context, e *barrier.Entry) error {
				return c.fn(ctx, g, p)
			})
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v", c.what, err)
			}
			if errors.Is(c.want, broken) != errors.Is(err, broken) {
				t.Errorf("%s: its error is lost: %v", c.what, err)
			}
			g.isEmpty(t)
		}
	})
}

func TestDoLeavesWhereTheFunctionPanics(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		p := g.party(t, 1)
		func() {
			defer func() {
				if v := recover(); v != "broken" {
					t.Errorf("it has panicked with %v", v)
				}
			}()
			_ = p.barrier.Do(t.Context(), func(context.Context, *barrier.Entry) error { panic("broken") })
		}()
		g.isEmpty(t)
	})
}

// TestDoDoesNotWaitForOthersWhenItIsStopped: the program can end.
func TestDoDoesNotWaitForOthersWhenItIsStopped(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		other := g.enter(t, 2)
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		err := g.party(t, 2).barrier.Do(ctx, func(ctx context.Context, _ *barrier.Entry) error {
			stop()
			return context.Cause(ctx)
		})
		if !errors.Is(err, context.Canceled) || time.Since(began) > time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		haveLeft(t, leave(t.Context(), other.isIn()), 1)
	})
}
