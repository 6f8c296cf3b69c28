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
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/clienttest"
)

func TestMain(m *testing.M) { clienttest.Main(m) }

const name = "barrier"

// never bounds a wait, on the bubble's clock, for an event that must come; and is the time in which a forbidden event
// must not come.
const never = time.Minute

// stage is a cluster with a client, for one test.
type stage struct{ *clienttest.Stage }

// play runs a test on a cluster of this many hosts, in a bubble of time.
func play(t *testing.T, hosts int, f func(t *testing.T, g *stage)) {
	t.Helper()
	clienttest.Play(t, hosts, func(t *testing.T, g *clienttest.Stage) { f(t, &stage{g}) })
}

// party enters the barrier in the background.
type party struct {
	t       *testing.T
	session *client.Session
	barrier *barrier.Barrier
	in      chan *barrier.Entry
	failed  chan error
}

// party makes a party with its own session.
func (st *stage) party(t *testing.T, parties int, options ...client.SessionOption) *party {
	t.Helper()
	s := st.Session(options...)
	return &party{
		t: t, session: s, barrier: barrier.New(s, name, parties),
		in: make(chan *barrier.Entry, 1), failed: make(chan error, 1),
	}
}

// enter makes a party and lets the party enter.
func (st *stage) enter(t *testing.T, parties int, options ...client.SessionOption) *party {
	t.Helper()
	p := st.party(t, parties, options...)
	p.enter(t.Context())
	return p
}

// enter lets the party enter and waits until the party is a member of the process.
func (p *party) enter(ctx context.Context) {
	go func() {
		if e, err := p.barrier.Enter(ctx); err != nil {
			p.failed <- err
		} else {
			p.in <- e
		}
	}()
	time.Sleep(time.Second)
}

// isIn returns the entry of a party inside the barrier.
func (p *party) isIn() *barrier.Entry {
	p.t.Helper()
	select {
	case e := <-p.in:
		if err := e.Err(); err != nil {
			p.t.Fatalf("it is let in, and is not inside: %v", err)
		}
		return e
	case err := <-p.failed:
		p.t.Fatalf("it is not let in: %v", err)
	case <-time.After(never):
		p.t.Fatal("it is not let in")
	}
	return nil
}

// fails returns the error of a party that cannot enter.
func (p *party) fails() error {
	p.t.Helper()
	select {
	case <-p.in:
		p.t.Fatal("it is let in")
	case err := <-p.failed:
		return err
	case <-time.After(never):
		p.t.Fatal("it waits")
	}
	return nil
}

// waits checks that the parties are still outside.
func waits(t *testing.T, parties ...*party) {
	t.Helper()
	time.Sleep(never)
	synctest.Wait()
	for i, p := range parties {
		if len(p.in)+len(p.failed) > 0 {
			t.Fatalf("party %d does not wait", i)
		}
	}
}

// leave has the entries leave, in the background.
func leave(ctx context.Context, entries ...*barrier.Entry) chan error {
	left := make(chan error, len(entries))
	for _, e := range entries {
		go func() { left <- e.Leave(ctx) }()
	}
	return left
}

// haveLeft checks that n parties have left.
func haveLeft(t *testing.T, left chan error, n int) {
	t.Helper()
	for range n {
		select {
		case err := <-left:
			clienttest.Check(t, err)
		case <-time.After(never):
			t.Fatal("it does not get out")
		}
	}
}

// isEmpty checks that the barrier has no party.
func (st *stage) isEmpty(t *testing.T) {
	t.Helper()
	time.Sleep(time.Second)
	p := process.New(st.Client, clienttest.Path, name)
	members, err := p.Members(t.Context(), process.Consistency(client.Strict))
	if err != nil && !errors.Is(err, process.ErrNotFound) || len(members) > 0 {
		t.Errorf("it is left with the members %+v, %v", members, err)
	}
}

func clusterHost(n int) shard.HostID { return shard.HostID(1 + n%3) }
