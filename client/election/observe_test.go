package election_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/election"
)

func TestObserveSeesEveryLeaderInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		ctx, cancel := context.WithCancel(t.Context())
		var seen []election.Leader
		ended := make(chan error, 1)
		go func() {
			for l, err := range election.Observe(ctx, g.c, path, name) {
				if err != nil {
					ended <- err
					return
				}
				seen = append(seen, l)
			}
		}()
		synctest.Wait() // it is there before the election is
		a := g.candidate(t.Context(), "a", g.session())
		term := <-a.terms
		b := g.candidate(t.Context(), "b", g.session())
		var want []election.Term
		for range 5 {
			time.Sleep(time.Second)
			want = append(want, term)
			term.Resign()
			select {
			case term = <-a.terms:
			case term = <-b.terms:
			}
		}
		want = append(want, term)
		time.Sleep(time.Second)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if seen[0].Fence != 0 {
			t.Fatalf("%+v led before there was an election", seen[0])
		}
		if seen = seen[1:]; len(seen) != len(want) {
			t.Fatalf("it saw %+v, not %+v", seen, want)
		}
		last := uint64(0)
		for i, l := range seen {
			if l.Fence != want[i].Fence || string(l.Data) != string(want[i].Data) || l.Fence <= last {
				t.Fatalf("it saw %+v, not %+v", seen, want)
			}
			last = l.Fence
		}
	})
}

func TestObserveTellsThatNobodyLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.session())
		term := <-a.terms
		var fences []uint64
		for l, err := range election.Observe(t.Context(), g.c, path, name) {
			if err != nil {
				t.Fatal(err)
			}
			if fences = append(fences, l.Fence); len(fences) == 2 {
				break
			}
			if err := a.s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if fences[0] != term.Fence || fences[1] != 0 {
			t.Fatal(fences)
		}
	})
}

func TestCurrentTellsWhoLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		if _, ok, err := election.Current(t.Context(), g.c, path, name); ok || err != nil {
			t.Fatal(ok, err)
		}
		if _, _, err := election.Current(t.Context(), g.c, "/nowhere", name); !errors.Is(err, client.ErrNotFound) {
			t.Fatal(err)
		}
		a := g.candidate(t.Context(), "a", g.session())
		term := <-a.terms
		l, ok, err := election.Current(t.Context(), g.c, path, name)
		if !ok || err != nil || l.Fence != term.Fence || l.SessionID != a.s.ID() || string(l.Data) != "a" {
			t.Fatal(l, ok, err)
		}
	})
}
