package raw_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// TestASessionGoesOnThroughAnotherGateway with its locks, queue positions, and its owner's numbers.
func TestASessionGoesOnThroughAnotherGateway(t *testing.T) {
	play(t, 1, 2, func(t *testing.T, r *rig) {
		owner, waiter, last := r.start(), r.start(), r.start()
		expect(t, owner.acquire("lock", 0), acquired)
		expect(t, waiter.acquire("lock", time.Minute), queued)
		behind := last.acquire("lock", time.Minute)
		expect(t, behind, queued)
		if err := waiter.Detach(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		moved := r.another().attach(waiter.ID(), 1)
		again := moved.acquire("lock", time.Minute)
		expect(t, again, queued)
		owner.release("lock")
		expect(t, again, protocol.KindGranted)
		moved.release("lock")
		expect(t, behind, protocol.KindGranted)
		if len(waiter.over)+len(owner.over) > 0 {
			t.Error("a last event of a handle that has detached, or that is attached")
		}
	})
}

// TestDetachLeavesTheTimeThatIsLeft: the session's locks are free afterwards, although other sessions still use the
// connection.
func TestDetachLeavesTheTimeThatIsLeft(t *testing.T) {
	for _, c := range []struct{ left, want time.Duration }{{0, 15 * time.Second}, {5 * time.Second, 5 * time.Second}} {
		t.Run(fmt.Sprint(c.left), func(t *testing.T) {
			play(t, 1, 1, func(t *testing.T, r *rig) {
				owner, other := r.start(), r.start()
				expect(t, owner.acquire("lock", 0), acquired)
				waits := other.acquire("lock", time.Minute)
				expect(t, waits, queued)
				began := time.Now()
				if err := owner.Detach(t.Context(), c.left); err != nil {
					t.Fatal(err)
				}
				expect(t, waits, protocol.KindGranted)
				if took := time.Since(began); took < c.want || took > c.want+2*time.Second {
					t.Errorf("free after %v, want %v", took, c.want)
				}
			})
		})
	}
}

// TestTheLastEventSaysWhy: each end of a handle causes one last event, and requests fail with the event's error.
func TestTheLastEventSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, r *rig, h *handle)
		want error
	}{
		"attached by another gateway": {func(t *testing.T, r *rig, h *handle) {
			r.another().attach(h.ID(), 1)
		}, client.ErrBadSession},
		"attached by this gateway once more": {func(t *testing.T, r *rig, h *handle) {
			r.attach(h.ID(), 1)
		}, client.ErrBadSession},
		"destroyed": {func(t *testing.T, r *rig, h *handle) {
			if err := r.raw.Do(t.Context(), &protocol.SessionDestroy{SessionID: h.ID()}, nil); err != nil {
				t.Error(err)
			}
		}, client.ErrSessionExpired},
		"its node dropped": {func(t *testing.T, r *rig, h *handle) {
			if err := r.raw.Do(t.Context(), &protocol.NodeDrop{Path: []byte(path)}, nil); err != nil {
				t.Error(err)
			}
		}, client.ErrSessionExpired},
		"the connection cut": {func(t *testing.T, r *rig, h *handle) {
			r.cluster.CutClients(1)
		}, client.ErrUnavailable},
		"the leader moved": {func(t *testing.T, r *rig, h *handle) {
			if err := r.cluster.Elect(1, r.cluster.Leader(1)%3+1); err != nil {
				t.Error(err)
			}
		}, client.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			hosts := 1
			if name == "the leader moved" {
				hosts = 3
			}
			play(t, hosts, 1, func(t *testing.T, r *rig) {
				owner, h := r.start(), r.start()
				expect(t, owner.acquire("lock", 0), acquired)
				waits := h.acquire("lock", time.Hour)
				expect(t, waits, queued)
				c.end(t, r, h)
				h.ends(c.want)
				// A node's drop also ends the waits in the node.
				if got := <-waits; got != 0 && got != protocol.KindAborted {
					t.Errorf("the acquire that waits: %v", got)
				}
			})
		})
	}
}

// TestADetachDoesNotUndoANewerAttach: the detaching handle was replaced over the same connection.
func TestADetachDoesNotUndoANewerAttach(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, r *rig) {
		for round := range uint64(20) {
			first := r.start()
			detached := make(chan error, 1)
			if round%2 == 0 {
				go func() { detached <- first.Detach(t.Context(), time.Second) }()
			}
			second := r.attach(first.ID(), 1)
			if round%2 == 1 {
				detached <- first.Detach(t.Context(), time.Second)
			}
			if err := <-detached; err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Second)
			if err := second.Err(); err != nil {
				t.Fatalf("round %d: the newer attach is over: %v", round, err)
			}
			expect(t, second.acquire(fmt.Sprint("lock", round), 0), acquired)
		}
	})
}

// TestAnAttachIsRefused: an existing handle continues.
func TestAnAttachIsRefused(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, r *rig) {
		h := r.start()
		h = r.attach(h.ID(), 5)
		for _, c := range []struct {
			id, sequence uint64
			key          string
			want         error
		}{
			{h.ID(), 6, "other", client.ErrBadSession},
			{h.ID(), 4, "key", client.ErrBadSession},
			{h.ID() + 1, 6, "key", client.ErrSessionExpired},
		} {
			p := params(c.sequence, make(chan error, 1))
			p.Key = []byte(c.key)
			if _, err := r.raw.Attach(t.Context(), c.id, p); !errors.Is(err, c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		expect(t, h.acquire("lock", 0), acquired)
		if err := h.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.raw.Attach(t.Context(), h.ID(), params(7, make(chan error, 1))); !errors.Is(err,
			client.ErrSessionExpired) {
			t.Errorf("after its stop: %v", err)
		}
	})
}

// TestACallerThatHasGoneLeavesNoSession, neither a started session nor an attached session.
func TestACallerThatHasGoneLeavesNoSession(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, r *rig) {
		node := r.client.Node(path)
		sessions := func() (list []*client.SessionInfo) {
			for s, err := range node.Sessions(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, s)
			}
			return list
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		h := r.start()
		for range 10 {
			if s, err := r.raw.Start(gone, params(0, make(chan error, 1))); err == nil {
				_ = s.Stop(t.Context())
			}
			if s, err := r.raw.Attach(gone, h.ID(), params(1, make(chan error, 1))); err == nil {
				_ = s.Detach(t.Context(), 0)
			}
		}
		time.Sleep(5 * time.Second)
		if list := sessions(); len(list) != 1 || list[0].ID != h.ID() {
			t.Errorf("there are %d sessions: %v", len(list), list)
		}
	})
}

// TestACallerThatHasGoneLeavesNoSessionBehindALostConnection: the connection is lost before the caller's session is
// ended. The client ends the session over another connection.
func TestACallerThatHasGoneLeavesNoSessionBehindALostConnection(t *testing.T) {
	play(t, 3, 1, func(t *testing.T, r *rig) {
		var cut atomic.Bool
		g := r.tap(func(k protocol.Kind) bool {
			return k != protocol.KindSessionStop || !cut.CompareAndSwap(false, true)
		})
		g.start()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for !cut.Load() {
			_, _ = g.raw.Start(gone, params(0, nil))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		n := 0
		for _, err := range r.client.Node(path).Sessions(t.Context()) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if n > 1 {
			t.Errorf("%d sessions are left, want at most that whose connection was lost", n)
		}
	})
}

// TestALeaseIsCountedFromThePings: the lease has almost its whole timeout left while the host answers, and runs out
// otherwise.
func TestALeaseIsCountedFromThePings(t *testing.T) {
	play(t, 3, 1, func(t *testing.T, r *rig) {
		h := r.start()
		const most = 15*time.Second - 1500*time.Millisecond
		for range 100 {
			time.Sleep(300 * time.Millisecond)
			if left := h.LeaseLeft(); left > most || left < most-2100*time.Millisecond {
				t.Fatalf("%v are left, of %v", left, most)
			}
		}
		leader := r.cluster.Leader(1)
		r.cluster.Isolate(leader)
		began := time.Now()
		for h.LeaseLeft() > 10*time.Second {
			if time.Sleep(10 * time.Millisecond); time.Since(began) > time.Minute {
				t.Fatalf("host %d was isolated, %d leads, and the lease goes on: %v", leader, r.cluster.Leader(1),
					h.Err())
			}
		}
		// The host may answer for the grace period after its latest barrier.
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("it went on for %v", took)
		}
		if ended := h.Err(); ended == nil {
			h.ends(client.ErrUnavailable)
		}
	})
}

// TestTheLeaseOfAnEndedHandleRunsOut: the host detaches the session, and goes on to answer pings over the connection.
func TestTheLeaseOfAnEndedHandleRunsOut(t *testing.T) {
	play(t, 3, 1, func(t *testing.T, r *rig) {
		h := r.start()
		if err := r.cluster.Elect(1, r.cluster.Leader(1)%3+1); err != nil {
			t.Fatal(err)
		}
		h.ends(client.ErrUnavailable)
		time.Sleep(time.Minute)
		if left := h.LeaseLeft(); left > 0 {
			t.Errorf("%v are left a minute after the end: %v", left, h.Err())
		}
	})
}

// TestSessionsActInAllShards, including shards with other leaders, and after a leader has moved.
func TestSessionsActInAllShards(t *testing.T) {
	play(t, 3, 4, func(t *testing.T, r *rig) {
		for i := range uint64(4) {
			if err := r.cluster.Elect(i+1, shard.HostID(i%3+1)); err != nil {
				t.Fatal(err)
			}
		}
		owner, h := r.start(), r.start()
		var waiting []<-chan protocol.Kind
		for i := range 16 {
			lock := fmt.Sprint("lock", i)
			expect(t, owner.acquire(lock, 0), acquired)
			waits := h.acquire(lock, time.Hour)
			expect(t, waits, queued)
			waiting = append(waiting, waits)
		}
		for i := range 16 {
			owner.release(fmt.Sprint("lock", i))
		}
		for _, waits := range waiting {
			expect(t, waits, protocol.KindGranted)
		}
	})
}

// TestAnAcquireThatWaitsIsAskedForAgain: the semaphore's shard has moved, and the session's shard has not.
func TestAnAcquireThatWaitsIsAskedForAgain(t *testing.T) {
	play(t, 3, 2, func(t *testing.T, r *rig) {
		leader := r.cluster.Leader(1)
		if err := r.cluster.Elect(2, leader%3+1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		owner, h := r.startIn(1), r.startIn(1)
		lock := r.nameIn(2, h.NodeID())
		expect(t, owner.acquire(lock, 0), acquired)
		waits := h.acquire(lock, time.Hour)
		expect(t, waits, queued)
		if err := r.cluster.Elect(2, (leader+1)%3+1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		owner.release(lock)
		select {
		case got := <-waits:
			if got != protocol.KindGranted && got != acquired {
				t.Errorf("it ended with %v", got)
			}
		case <-time.After(time.Minute):
			t.Error("no outcome")
		}
		if h.Err() != nil {
			t.Errorf("its session: %v", h.Err())
		}
	})
}

// startIn starts a session with its home in a shard.
func (g *gateway) startIn(shard uint64) *handle {
	for {
		h := g.start()
		if uint64(protocol.SessionSlot(h.ID()))/(protocol.Slots/2)+1 == shard {
			return h
		}
		_ = h.Stop(g.t.Context())
	}
}

// nameIn returns a semaphore name in one shard.
func (r *rig) nameIn(shard, node uint64) string {
	for i := 0; ; i++ {
		name := fmt.Sprint("lock", i)
		if uint64(protocol.SemaphoreSlot(node, []byte(name)))/(protocol.Slots/2)+1 == shard {
			return name
		}
	}
}

// TestAWatchReportsOneChange; a later description with a watch replaces the watch.
func TestAWatchReportsOneChange(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, r *rig) {
		if err := r.client.Node(path).Create(t.Context(), "config", 1, []byte("a")); err != nil {
			t.Fatal(err)
		}
		h := r.start()
		watch := func() (data string, changed <-chan [2]bool) {
			flags := make(chan [2]bool, 4)
			m := &protocol.SemaphoreDescribe{Name: []byte("config"), WatchData: true, WatchOwners: true}
			err := h.Do(t.Context(), m, func(a *protocol.Answer) {
				data = string(a.SemaphoreDescribe.Semaphore.Data)
			}, func(a *protocol.Answer, err error) {
				if err == nil {
					flags <- [2]bool{a.WatchChanged.Data, a.WatchChanged.Owners}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			return data, flags
		}
		_, first := watch()
		_, second := watch()
		expect(t, first, [2]bool{})
		if err := r.client.Node(path).Update(t.Context(), "config", []byte("b")); err != nil {
			t.Fatal(err)
		}
		expect(t, second, [2]bool{true, false})
		if data, _ := watch(); data != "b" {
			t.Errorf("the data is %q", data)
		}
	})
}

// TestIdleSessionsHaveNoGoroutines: and little memory.
func TestIdleSessionsHaveNoGoroutines(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, r *rig) {
		r.start()
		synctest.Wait()
		before := runtime.NumGoroutine()
		for range 200 {
			r.start()
		}
		synctest.Wait()
		if more := runtime.NumGoroutine() - before; more > 20 {
			t.Errorf("200 sessions have %d goroutines", more)
		}
	})
}

// TestWhatIsNoRequestHere is refused without asking a host.
func TestWhatIsNoRequestHere(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, r *rig) {
		h := r.start()
		for _, m := range []protocol.RequestMessage{
			&protocol.SessionStop{}, &protocol.Acquire{Mutation: protocol.Mutation{SessionID: 1}}, &protocol.Hello{},
		} {
			if err := r.raw.Do(t.Context(), m, nil); !errors.Is(err, client.ErrBadRequest) {
				t.Errorf("%v: %v", m.Kind(), err)
			}
		}
		for _, m := range []protocol.RequestMessage{&protocol.Acquire{Name: []byte("x")}, &protocol.Ping{}} {
			if err := h.Do(t.Context(), m, nil, nil); !errors.Is(err, client.ErrBadRequest) {
				t.Errorf("%v: %v", m.Kind(), err)
			}
		}
		var _ error = (*raw.Ended)(nil)
	})
}
