package election_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/election"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/clienttest"
)

func TestObserveSeesEveryLeaderInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		ctx, cancel := context.WithCancel(t.Context())
		var seen []election.Leader
		ended := make(chan error, 1)
		go func() {
			for l, err := range election.Observe(ctx, g.Client, path, name) {
				if err != nil {
					ended <- err
					return
				}
				seen = append(seen, l)
			}
		}()
		synctest.Wait() // the observer exists before the election
		a := g.candidate(t.Context(), "a", g.Session())
		term := <-a.terms
		b := g.candidate(t.Context(), "b", g.Session())
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

func TestObserveReportsThatThereIsNoLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.Session())
		term := <-a.terms
		var fences []uint64
		for l, err := range election.Observe(t.Context(), g.Client, path, name) {
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
		if _, ok, err := election.Current(t.Context(), g.Client, path, name); ok || err != nil {
			t.Fatal(ok, err)
		}
		if _, _, err := election.Current(t.Context(), g.Client, "/nowhere", name); !errors.Is(err, client.ErrNotFound) {
			t.Fatal(err)
		}
		a := g.candidate(t.Context(), "a", g.Session())
		term := <-a.terms
		l, ok, err := election.Current(t.Context(), g.Client, path, name)
		if !ok || err != nil || l.Fence != term.Fence || l.SessionID != a.s.ID() || string(l.Data) != "a" {
			t.Fatal(l, ok, err)
		}
	})
}

// TestALeaderThatIsOverIsNotReported: an isolated host answers relaxed reads and shows views from the past until it can
// notice its isolation, for a grace period.
func TestALeaderThatIsOverIsNotReported(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			srv := servertest.Start(t, servertest.Hosts(3), servertest.Shards(1))
			for id := range uint64(2) {
				clienttest.Check(t, srv.Elect(id, 1))
			}
			c := clienttest.Open(t, srv)
			_, err := c.CreateNode(t.Context(), path, client.NodeConfig{SessionGracePeriod: 30 * time.Second})
			clienttest.Check(t, err)
			g := &stage{&clienttest.Stage{T: t, Server: srv, Client: c}}
			a := g.candidate(t.Context(), "a", g.Session())
			old := <-a.terms
			b := g.candidate(t.Context(), "b", g.Session())
			var clients []*client.Client
			for range 20 {
				other := clienttest.Open(t, srv)
				l, ok, err := election.Current(t.Context(), other, path, name)
				if !ok || err != nil || l.Fence != old.Fence {
					t.Fatal(l, ok, err)
				}
				clients = append(clients, other)
			}
			time.Sleep(time.Second)
			srv.Isolate(3)
			next := election.Term{}
			if deleted {
				clienttest.Check(t, a.s.Close(t.Context()))
				clienttest.Check(t, b.s.Close(t.Context()))
				clienttest.Check(t, c.Node(path).Delete(t.Context(), name, client.Force()))
			} else {
				old.Resign()
				next = <-b.terms
			}
			time.Sleep(time.Second)
			stale := 0
			for _, c := range clients { // at once, while the isolated host still trusts its copy
				l, _, err := election.Current(t.Context(), c, path, name, election.Relaxed())
				if err == nil && l.Fence == old.Fence {
					stale++
				}
			}
			for _, c := range clients {
				l, ok, err := election.Current(t.Context(), c, path, name)
				if err != nil || ok == deleted || l.Fence != next.Fence {
					t.Errorf("Current: %+v, %v, %v, not %d", l, ok, err, next.Fence)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				for l, err := range election.Observe(ctx, c, path, name) {
					if err != nil {
						break // the context's end
					}
					if l.Fence != next.Fence {
						t.Errorf("Observe: %+v, not %d", l, next.Fence)
					}
				}
				cancel()
			}
			if stale == 0 {
				t.Error("no relaxed read was of the past, so nothing was tested")
			}
			srv.Heal()
		})
	}
}

// TestObserveFollowsAnElectionWhoseDataHasChanged: a view's revision stays unchanged while only unwatched fields
// change.
func TestObserveFollowsAnElectionWhoseDataHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.Session())
		term := <-a.terms
		fences := make(chan uint64, 10)
		observe := func() {
			for l, err := range election.Observe(t.Context(), g.Client, path, name) {
				if err != nil {
					return
				}
				fences <- l.Fence
			}
		}
		go observe()
		synctest.Wait()
		clienttest.Check(t, g.Client.Node(path).Update(t.Context(), name, []byte("more")))
		go observe() // this one shares the first one's views
		synctest.Wait()
		term.Resign()
		next := <-a.terms
		synctest.Wait()
		count := make(map[uint64]int)
		for len(fences) > 0 {
			count[<-fences]++
		}
		if count[term.Fence] != 2 || count[next.Fence] != 2 {
			t.Fatal(count, term.Fence, next.Fence)
		}
	})
}

// TestObserveAloneEndsWithTheSecondOwner, whether the second owner exists before or comes later. A plain Observe
// continues.
func TestObserveAloneEndsWithTheSecondOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		own := func() {
			if _, err := g.Session().Semaphore(name, client.Limit(9)).Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		observe := func(options ...election.ReadOption) (seen int, err error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for _, err := range election.Observe(ctx, g.Client, path, name, options...) {
				if err != nil {
					return seen, err
				}
				seen++
			}
			return seen, nil
		}
		own()
		time.AfterFunc(time.Second, own)
		if seen, err := observe(election.Alone()); seen != 1 || !errors.Is(err, election.ErrShared) {
			t.Errorf("while another owner comes: %d leaders, %v", seen, err)
		}
		if seen, err := observe(election.Alone()); seen != 0 || !errors.Is(err, election.ErrShared) {
			t.Errorf("with two owners: %d leaders, %v", seen, err)
		}
		if seen, err := observe(); seen != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without the option: %d leaders, %v", seen, err)
		}
	})
}
