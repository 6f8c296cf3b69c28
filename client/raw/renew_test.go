package raw_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// late is a connection with delayed sending.
type late struct {
	net.Conn
	by func() time.Duration
}

func (l *late) Write(b []byte) (int, error) {
	time.Sleep(l.by())
	return l.Conn.Write(b)
}

// behind returns another gateway, and a function that delays its data to a host.
func (r *rig) behind(address string) (g *gateway, slow func(by time.Duration)) {
	var wait atomic.Int64
	dial := func(ctx context.Context, to string) (net.Conn, error) {
		c, err := r.cluster.Dial(ctx, to)
		if err != nil || to != address {
			return c, err
		}
		return &late{Conn: c, by: func() time.Duration { return time.Duration(wait.Load()) }}, nil
	}
	c, err := client.Open(r.t.Context(), r.cluster.Addresses(), client.WithDialer(dial))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return &gateway{t: r.t, client: c, raw: raw.New(c, raw.Options{PingEvery: time.Second})},
		func(by time.Duration) { synctest.Wait(); wait.Store(int64(by)) }
}

// TestASlowHostDoesNotHoldUpADetach: the session acts over connections to two hosts; after the detach it lives for the
// remaining time at its home.
func TestASlowHostDoesNotHoldUpADetach(t *testing.T) {
	play(t, 3, 2, func(t *testing.T, r *rig) {
		home := r.cluster.Leader(1)
		if err := r.cluster.Elect(2, home%3+1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		g, slow := r.behind(servertest.Address(home%3 + 1))
		h, other := g.startIn(1), r.start()
		lock := r.nameIn(2, h.NodeID())
		expect(t, h.acquire(lock, 0), acquired)
		waits := other.acquire(lock, time.Hour)
		expect(t, waits, queued)
		slow(12 * time.Second)
		began := time.Now()
		if err := h.Detach(t.Context(), 5*time.Second); err != nil {
			t.Fatal(err)
		}
		expect(t, waits, protocol.KindGranted)
		if took := time.Since(began); took < 5*time.Second || took > 5*time.Second+250*time.Millisecond {
			t.Errorf("it lived for %v", took)
		}
		slow(0)
	})
}

// TestADetachThatWaitsLeavesNoMoreForThat: the remaining time counts from the call, although the request leaves later.
func TestADetachThatWaitsLeavesNoMoreForThat(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, r *rig) {
		g, slow := r.behind(servertest.Address(1))
		h := g.start()
		slow(2 * time.Second)
		attached := make(chan error, 1)
		go func() {
			// The attach is refused, and has the turn until then.
			p := params(0, make(chan error, 1))
			p.Key = []byte("another")
			_, err := g.raw.Attach(t.Context(), h.ID(), p)
			attached <- err
		}()
		slow(0) // for the requests behind it
		began := time.Now()
		detached := make(chan error, 1)
		go func() { detached <- h.Detach(t.Context(), 5*time.Second) }()
		if err := <-attached; !errors.Is(err, client.ErrBadSession) {
			t.Fatal(err)
		}
		if err := <-detached; err != nil {
			t.Fatal(err)
		}
		for !isOver(t, r, h.ID()) {
			time.Sleep(20 * time.Millisecond)
		}
		if took := time.Since(began); took < 5*time.Second || took > 5*time.Second+250*time.Millisecond {
			t.Errorf("it lived for %v", took)
		}
	})
}

func isOver(t *testing.T, r *rig, id uint64) bool {
	t.Helper()
	_, err := r.client.DescribeSession(t.Context(), id)
	return errors.Is(err, client.ErrSessionExpired)
}

// TestARenewalIsAnsweredByTheHost of the session's attachment; no other host answers.
func TestARenewalIsAnsweredByTheHost(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, r *rig) {
		g, slow := r.behind(servertest.Address(1))
		h := g.start()
		renew := func() <-chan error {
			done := make(chan error, 2)
			h.Renew(func(err error) { done <- err })
			return done
		}
		expect(t, renew(), nil)
		slow(time.Second)
		late := renew()
		time.Sleep(900 * time.Millisecond)
		if len(late) > 0 {
			t.Error("it was answered before the host has heard of it")
		}
		expect(t, late, nil)
		slow(0)
		time.Sleep(time.Second)
		lost := renew()
		r.another().attach(h.ID(), 1)
		<-lost // the host may have answered before the attach
		synctest.Wait()
		if err := <-renew(); !errors.Is(err, client.ErrBadSession) {
			t.Errorf("after an attach elsewhere: %v", err)
		}
		h = g.start()
		slow(time.Hour)
		lost = renew()
		r.cluster.CutClients(1)
		if err := <-lost; !errors.Is(err, client.ErrUnavailable) || h.Err() == nil {
			t.Errorf("over a connection that is lost: %v, and the handle says %v", err, h.Err())
		}
		slow(0)
	})
}

// TestARequestThatIsLeftIsForgotten: repeated requests for one place in a queue, under the same number.
func TestARequestThatIsLeftIsForgotten(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, r *rig) {
		owner, h := r.start(), r.start()
		expect(t, owner.acquire("lock", 0), acquired)
		ask := func(ctx context.Context) error {
			return h.Do(ctx, &protocol.Acquire{
				Mutation: protocol.Mutation{Sequence: 1}, Name: []byte("lock"), Count: protocol.Exclusive,
				WaitMillis: protocol.Forever, Ephemeral: true,
			}, nil, nil)
		}
		for range 100 {
			if err := ask(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			_ = ask(gone)
		}
		if n := h.Requests(); n != 0 {
			t.Errorf("%d requests wait for what nobody wants", n)
		}
	})
}
