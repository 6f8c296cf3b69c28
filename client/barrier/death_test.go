package barrier_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/barrier"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestADeathBeforeAllHaveEntered frees the place.
func TestADeathBeforeAllHaveEntered(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a, b := g.enter(t, 3), g.enter(t, 3)
		g.Destroy(a.session)
		var end *client.SessionEnd
		if err := a.fails(); !errors.As(err, &end) {
			t.Errorf("the one that died: %v", err)
		}
		c := g.enter(t, 3)
		waits(t, b, c)
		d := g.enter(t, 3)
		if i, j, k := b.isIn().Index(), c.isIn().Index(), d.isIn().Index(); i != 0 || j != 1 || k != 2 {
			t.Errorf("they are number %d, %d, %d", i, j, k)
		}
	})
}

// TestADeathInside: a dead party does not delay leaving parties.
func TestADeathInside(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a, b, c := g.enter(t, 3), g.enter(t, 3), g.enter(t, 3)
		x, y, z := a.isIn(), b.isIn(), c.isIn()
		left := leave(t.Context(), x)
		time.Sleep(time.Second)
		g.Destroy(c.session)
		<-z.Context().Done()
		if err := z.Err(); !errors.Is(err, barrier.ErrLost) {
			t.Errorf("the one that died is inside: %v", err)
		}
		if err := z.Leave(t.Context()); !errors.Is(err, barrier.ErrLost) {
			t.Errorf("the one that died leaves: %v", err)
		}
		haveLeft(t, leave(t.Context(), y), 1)
		haveLeft(t, left, 1)
		g.isEmpty(t)
	})
}

// TestTheCoordinatorDies: the next coordinator knows the parties inside.
func TestTheCoordinatorDies(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a, b, c := g.enter(t, 2), g.enter(t, 2), g.enter(t, 2)
		a.isIn()
		y := b.isIn()
		g.Destroy(a.session)
		d := g.enter(t, 2)
		waits(t, c, d) // one is inside
		haveLeft(t, leave(t.Context(), y), 1)
		if x, z := c.isIn(), d.isIn(); x.Generation() != z.Generation() || x.Generation() <= y.Generation() {
			t.Errorf("generations %d, %d after %d", x.Generation(), z.Generation(), y.Generation())
		}
	})
}

func TestOneThatWaitsOutlivesItsSession(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a := g.enter(t, 2, client.Recreate())
		g.Destroy(a.session)
		clienttest.WaitForQuiet()
		waits(t, a)
		b := g.enter(t, 2)
		haveLeft(t, leave(t.Context(), a.isIn(), b.isIn()), 2)
	})
}

// TestOneThatWasInsideIsNotCountedAgain: the party has not entered again since its session was renewed.
func TestOneThatWasInsideIsNotCountedAgain(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		a, b := g.enter(t, 2, client.Recreate()), g.enter(t, 2)
		x, y := a.isIn(), b.isIn()
		g.Destroy(a.session)
		<-x.Context().Done()
		haveLeft(t, leave(t.Context(), y), 1)
		b.enter(t.Context())
		waits(t, b)
		a.enter(t.Context())
		haveLeft(t, leave(t.Context(), a.isIn(), b.isIn()), 2)
		g.isEmpty(t)
	})
}

func TestAnOperatorPutsOneOut(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		p, by := process.New(g.Client, clienttest.Path, name), process.ChangeInfo{Author: "anna", Reason: "it hangs"}
		a, b := g.enter(t, 2), g.enter(t, 2)
		x, y := a.isIn(), b.isIn()
		c := g.enter(t, 2)
		members, err := p.Members(t.Context())
		clienttest.Check(t, err)
		clienttest.Check(t, p.Evict(t.Context(), members[0].ID, by)) // the first party
		<-x.Context().Done()
		if err := x.Err(); !errors.Is(err, barrier.ErrLost) || !errors.Is(err, process.ErrEvicted) {
			t.Errorf("it was put out: %v", err)
		}
		haveLeft(t, leave(t.Context(), y), 1)
		clienttest.Check(t, p.Evict(t.Context(), members[2].ID, by)) // a waiting party
		if err := c.fails(); !errors.Is(err, process.ErrEvicted) {
			t.Errorf("it was put out: %v", err)
		}
		c.enter(t.Context())
		d := g.enter(t, 2)
		haveLeft(t, leave(t.Context(), c.isIn(), d.isIn()), 2)
	})
}

func TestABarrierThatIsDeleted(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		p := process.New(g.Client, clienttest.Path, name)
		a, b, c := g.enter(t, 2), g.enter(t, 2), g.enter(t, 2)
		x, y := a.isIn(), b.isIn()
		left := leave(t.Context(), x)
		time.Sleep(time.Second)
		clienttest.Check(t, p.Delete(t.Context(), true))
		haveLeft(t, left, 1)
		<-y.Context().Done()
		if err := y.Leave(t.Context()); !errors.Is(err, barrier.ErrLost) {
			t.Errorf("it is out of what is no more: %v", err)
		}
		if err := c.fails(); !errors.Is(err, process.ErrEvicted) {
			t.Errorf("it waited: %v", err)
		}
		a.enter(t.Context())
		if e := g.enter(t, 2).isIn(); e.Generation() <= x.Generation() || a.isIn().Generation() != e.Generation() {
			t.Errorf("another barrier of the name has generation %d after %d", e.Generation(), x.Generation())
		}
	})
}

// TestThingsThatDoNotMatter: a party returns within the session timeout; leaders change.
func TestThingsThatDoNotMatter(t *testing.T) {
	play(t, 3, func(t *testing.T, g *stage) {
		a, b := g.enter(t, 3), g.enter(t, 3)
		clienttest.Lead(t, g.Server, 2)
		waits(t, a, b)
		c := g.enter(t, 3)
		x, y, z := a.isIn(), b.isIn(), c.isIn()
		clienttest.Lead(t, g.Server, 3)
		left := leave(t.Context(), x, y)
		for n := range 3 {
			g.Server.CutClients(clusterHost(n))
		}
		time.Sleep(never)
		if err := z.Err(); err != nil || len(left) > 0 {
			t.Fatalf("after a change of leader: %v, %d are out", err, len(left))
		}
		clienttest.Lead(t, g.Server, 1)
		haveLeft(t, leave(t.Context(), z), 1)
		haveLeft(t, left, 2)
		g.isEmpty(t)
	})
}

// TestOneThatIsCutOffIsOutBeforeTheNextIsIn: a partitioned party leaves by its own clock, without any message.
func TestOneThatIsCutOffIsOutBeforeTheNextIsIn(t *testing.T) {
	play(t, 1, func(t *testing.T, g *stage) {
		var cut atomic.Bool
		c, err := client.Open(t.Context(), g.Server.Addresses(),
			client.WithDialer(func(ctx context.Context, address string) (net.Conn, error) {
				if cut.Load() {
					return nil, errors.New("cut off")
				}
				return g.Server.Dial(ctx, address)
			}))
		clienttest.Check(t, err)
		defer c.Close()
		e, err := barrier.New(clienttest.Session(t, c), name, 1).Enter(t.Context())
		clienttest.Check(t, err)
		ended := make(chan time.Time, 1)
		go func() {
			<-e.Context().Done()
			ended <- time.Now()
		}()
		next := g.enter(t, 1)
		cut.Store(true)
		g.Server.CutClients(1)
		later := next.isIn()
		now := time.Now()
		if at := <-ended; at.After(now) || later.Generation() <= e.Generation() {
			t.Errorf("it was out %v after the next was in, of generation %d after %d", at.Sub(now), later.Generation(),
				e.Generation())
		}
	})
}
