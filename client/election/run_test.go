package election_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/election"
)

func TestOneLeadsAtATimeAndFencesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		ctx, cancel := context.WithCancel(t.Context())
		var leading atomic.Int32
		terms := make(chan uint64, 1000)
		done := make(chan error, 4)
		for range 2 {
			s := g.Session()
			for range 2 { // candidates of one session take turns too
				go func() {
					done <- election.Run(ctx, s, name, nil, func(_ context.Context, term election.Term) error {
						if leading.Add(1) != 1 {
							t.Error("two lead at once")
						}
						time.Sleep(time.Second)
						terms <- term.Fence
						leading.Add(-1)
						return nil
					})
				}()
			}
		}
		time.Sleep(20 * time.Second)
		cancel()
		for range 4 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		close(terms)
		n, last := 0, uint64(0)
		for f := range terms {
			if n++; f <= last {
				t.Fatalf("fence %d came after %d", f, last)
			}
			last = f
		}
		if n < 15 {
			t.Fatalf("there were %d terms in 20 s", n)
		}
	})
}

func TestResignHandsOverOnceTheFunctionHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.Session())
		term := <-a.terms
		b := g.candidate(t.Context(), "b", g.Session())
		time.Sleep(time.Minute)
		if len(b.terms) > 0 {
			t.Fatal("both lead")
		}
		term.Resign()
		term.Resign()
		if err := <-a.ends; !errors.Is(err, election.Resign) {
			t.Fatal(err)
		}
		next := <-b.terms
		if next.Fence <= term.Fence || string(next.Data) != "b" || next.Context.Err() != nil {
			t.Fatalf("%+v after %+v", next, term)
		}
		// The first candidate contends again.
		time.Sleep(time.Second)
		next.Resign()
		if again := <-a.terms; again.Fence <= next.Fence {
			t.Fatalf("fence %d came after %d", again.Fence, next.Fence)
		}
	})
}

func TestResignAsAReturnValueContendsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		n, enough := 0, errors.New("enough")
		err := election.Run(t.Context(), g.Session(), name, nil, func(context.Context, election.Term) error {
			if n++; n == 3 {
				return enough
			}
			return fmt.Errorf("not now: %w", election.Resign)
		})
		if err != enough || n != 3 {
			t.Fatal(n, err)
		}
		if _, ok, err := election.Current(t.Context(), g.Client, path, name); ok || err != nil {
			t.Fatal(ok, err)
		}
	})
}

func TestTheEndOfASessionHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.Session())
		term := <-a.terms
		b := g.candidate(t.Context(), "b", g.Session())
		synctest.Wait()
		if err := a.s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-a.ends; !errors.Is(err, election.ErrLost) || !errors.Is(err, client.ErrSessionClosed) {
			t.Fatal(err)
		}
		if next := <-b.terms; next.Fence <= term.Fence {
			t.Fatalf("fence %d came after %d", next.Fence, term.Fence)
		}
		if err := <-a.done; !errors.Is(err, client.ErrSessionClosed) {
			t.Fatal(err)
		}
	})
}

func TestALeaderThatLosesItsSessionContendsAgainThroughARenewedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.Session(client.Recreate()))
		first := <-a.terms
		b := g.candidate(t.Context(), "b", g.Session(client.Recreate()))
		synctest.Wait()
		g.Destroy(a.s)
		var end *client.SessionEnd
		if err := <-a.ends; !errors.Is(err, election.ErrLost) || !errors.As(err, &end) {
			t.Fatal(err)
		}
		second := <-b.terms
		time.Sleep(time.Second)
		g.Destroy(b.s)
		third := <-a.terms
		if first.Fence >= second.Fence || second.Fence >= third.Fence {
			t.Fatal(first.Fence, second.Fence, third.Fence)
		}
	})
}

func TestALeaderThatCannotReachTheClusterStopsInTimeAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.Session(client.Recreate(), client.SessionTimeout(4*time.Second)))
		first := <-a.terms
		host := g.Server.Leader(1)
		g.Server.Stop(host)
		began := time.Now()
		if err := <-a.ends; !errors.Is(err, election.ErrLost) {
			t.Fatal(err)
		}
		if d := time.Since(began); d >= 4*time.Second {
			t.Fatalf("it led for %v without a cluster", d)
		}
		if err := g.Server.Restart(host); err != nil {
			t.Fatal(err)
		}
		if again := <-a.terms; again.Fence <= first.Fence {
			t.Fatalf("fence %d came after %d", again.Fence, first.Fence)
		}
	})
}

func TestACandidateWhoseSessionIsRenewedWaitsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.Session())
		term := <-a.terms
		b := g.candidate(t.Context(), "b", g.Session(client.Recreate()))
		synctest.Wait()
		g.Destroy(b.s)
		time.Sleep(time.Second)
		term.Resign()
		<-b.terms
	})
}

func TestAnElectionThatIsDeletedBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.Session())
		<-a.terms
		b := g.candidate(t.Context(), "b", g.Session())
		synctest.Wait()
		if err := g.Client.Node(path).Delete(t.Context(), name, client.Force()); err != nil {
			t.Fatal(err)
		}
		if err := <-a.ends; !errors.Is(err, election.ErrLost) {
			t.Fatal(err)
		}
		term := election.Term{}
		select {
		case term = <-a.terms:
		case term = <-b.terms:
		}
		time.Sleep(time.Second)
		term.Resign() // the other one is still a candidate
		select {
		case term = <-a.terms:
		case term = <-b.terms:
		}
		if err := term.Context.Err(); err != nil || len(a.done)+len(b.done) > 0 {
			t.Fatal(err)
		}
	})
}

func TestTheEndOfTheContextEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		why := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		a := g.candidate(ctx, "a", g.Session())
		<-a.terms
		b := g.candidate(ctx, "b", g.Session())
		synctest.Wait()
		cancel(why)
		for _, c := range []*candidate{a, b} {
			if err := <-c.done; !errors.Is(err, why) {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		d, err := g.Client.Node(path).Describe(t.Context(), name)
		if err != nil || d.OwnerCount != 0 || d.WaiterCount != 0 {
			t.Fatal(d, err)
		}
	})
}

func TestOnceStopsAfterOneTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.Session(), election.Once())
		(<-a.terms).Resign()
		if err := <-a.done; err != nil {
			t.Fatal(err)
		}
		b := g.candidate(t.Context(), "b", g.Session(), election.Once())
		<-b.terms
		g.Destroy(b.s)
		if err := <-b.done; !errors.Is(err, election.ErrLost) {
			t.Fatal(err)
		}
	})
}

func TestASemaphoreOfAnotherLimitIsNoElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		if err := g.Client.Node(path).Create(t.Context(), name, 3, nil); err != nil {
			t.Fatal(err)
		}
		a := g.candidate(t.Context(), "a", g.Session())
		if err := <-a.done; !errors.Is(err, client.ErrPreconditionFailed) || len(a.terms) > 0 {
			t.Fatal(err)
		}
	})
}
