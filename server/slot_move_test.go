package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// mover moves slots of a cluster, as the executor does.
type mover struct {
	t           *testing.T
	c           *servertest.Cluster
	generations map[shard.Slot]uint64
	owners      map[shard.Slot]uint64
}

func newMover(t *testing.T, c *servertest.Cluster) *mover {
	return &mover{t, c, make(map[shard.Slot]uint64), make(map[shard.Slot]uint64)}
}

// owner returns the shard that has a slot: at first one of two halves.
func (m *mover) owner(slot shard.Slot) uint64 {
	if at := m.owners[slot]; at != 0 {
		return at
	}
	return 1 + uint64(slot)/(shard.Slots/2)
}

// try asks the leader of a shard to carry out an effect, once.
func (m *mover) try(e *protocol.StepExecute) (protocol.SlotOutcome, string, error) {
	leader := m.c.Leader(e.ShardID)
	if leader == 0 {
		return 0, "", shard.ErrNotLeader
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Second)
	defer cancel()
	return m.c.Host(leader).MoveSlot(ctx, e)
}

// move moves a slot to the other shard. An attempt without an answer is refused and cancelled.
func (m *mover) move(slot shard.Slot) protocol.SlotOutcome {
	m.t.Helper()
	from := m.owner(slot)
	to := 3 - from
	m.generations[slot] += 2
	e := protocol.StepExecute{Effect: protocol.EffectMoveSlot, ShardID: from, Into: to, Slot: uint64(slot),
		Generation: m.generations[slot] - 1}
	outcome, reason, err := m.try(&e)
	for late := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(late); {
		refuse, cancel := e, e
		refuse.Effect, refuse.ShardID, refuse.Into = protocol.EffectRefuseSlot, to, from
		cancel.Effect = protocol.EffectCancelSlot
		if outcome, reason, err = m.try(&refuse); err == nil && outcome == protocol.SlotKept {
			outcome, reason, err = m.try(&cancel)
		}
		if err != nil {
			time.Sleep(5 * time.Millisecond)
		}
	}
	switch {
	case err != nil:
		m.t.Fatalf("slot %d: %v", slot, err)
	case outcome == protocol.SlotOpened:
		m.owners[slot] = to
	default:
		m.t.Logf("slot %d stays: %s", slot, reason)
	}
	return outcome
}

func TestClientsFollowSlotsThatMove(t *testing.T) { followMoves(t, func(*servertest.Cluster) {}) }

// TestClientsFollowSlotsThatMoveWhileLeadersChange: any leader may change at any point of a move.
func TestClientsFollowSlotsThatMoveWhileLeadersChange(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	followMoves(t, func(c *servertest.Cluster) {
		_ = c.Elect(uint64(random.IntN(3)), shard.HostID(1+random.IntN(3)))
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
	})
}

// followMoves has clients lock names in slots that move all the time, and something disturb the cluster beside that.
func followMoves(t *testing.T, disturb func(*servertest.Cluster)) {
	c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2))
	ctx := t.Context()
	cl, err := client.Open(ctx, c.Addresses(), client.WithDialer(c.Dial))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	node, err := cl.CreateNode(ctx, "/moves", client.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	const names, workers = 8, 16
	var slots []shard.Slot
	name := func(i int) string { return fmt.Sprintf("lock-%d", i) }
	for i := range names {
		slots = append(slots, shard.SlotOf(shard.NodeID(node.ID), []byte(name(i))))
	}
	var running sync.WaitGroup
	var done atomic.Int64
	var inside [names]atomic.Int32
	var fences [names]atomic.Uint64
	stop := make(chan struct{})
	for w := range workers {
		s, err := cl.Session(ctx, "/moves", client.SessionTimeout(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(context.WithoutCancel(ctx))
		slots = append(slots, shard.SessionID(s.ID()).Slot())
		running.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for {
				select {
				case <-stop:
					return
				default:
				}
				i := random.IntN(names)
				l, err := s.Ephemeral(name(i)).Lock(ctx)
				if err != nil {
					t.Errorf("worker %d: %v", w, err)
					return
				}
				if n := inside[i].Add(1); n != 1 {
					t.Errorf("%d owners of %s", n, name(i))
				}
				if before := fences[i].Swap(l.Fence()); before >= l.Fence() {
					t.Errorf("the token of %s went from %d to %d", name(i), before, l.Fence())
				}
				inside[i].Add(-1)
				if err := l.Release(ctx); err != nil {
					t.Errorf("worker %d releases: %v", w, err)
					return
				}
				if err := context.Cause(s.Context()); err != nil {
					t.Errorf("the session of worker %d has ended: %v", w, err)
					return
				}
				done.Add(1)
			}
		})
	}
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				disturb(c)
			}
		}
	})
	m := newMover(t, c)
	began, moved := time.Now(), 0
	for range 5 {
		for _, slot := range slots {
			before := done.Load()
			if m.move(slot) == protocol.SlotOpened {
				moved++
			}
			awaitThat(t, "locks go on", func() bool { return done.Load() > before+workers || t.Failed() })
			if t.Failed() {
				close(stop)
				running.Wait()
				return
			}
		}
	}
	close(stop)
	running.Wait()
	t.Logf("%d moves and %d locks in %v", moved, done.Load(), time.Since(began))
	if moved < len(slots) {
		t.Errorf("%d moves", moved)
	}
	counted := 0
	for id := range shard.HostID(3) {
		var out bytes.Buffer
		c.Host(id + 1).WriteMetrics(&out)
		_, after, _ := strings.Cut(out.String(), `signalbox_slot_moves_total{outcome="opened"} `)
		line, _, _ := strings.Cut(after, "\n")
		n, err := strconv.Atoi(line)
		if err != nil {
			t.Error(err)
		}
		counted += n
	}
	if counted < moved {
		t.Errorf("the hosts count %d moves, not %d", counted, moved)
	}
}

// TestWhatASlotHasMovesWithIt: owners keep their leases and order ids, waiters their positions and time limits, a watch
// misses nothing and invents nothing, and a session that was stopped stays over.
func TestWhatASlotHasMovesWithIt(t *testing.T) {
	c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	open := func() *client.Client {
		cl, err := client.Open(ctx, c.Addresses(), client.WithDialer(c.Dial))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cl.Close() })
		return cl
	}
	cl, dying := open(), open()
	node, err := cl.CreateNode(ctx, "/moves", client.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := cl.Node("/moves").Create(ctx, "job", 1, []byte("config")); err != nil {
		t.Fatal(err)
	}
	session := func(cl *client.Client, timeout time.Duration) *client.Session {
		s, err := cl.Session(ctx, "/moves", client.SessionTimeout(timeout))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	owner, brief := session(cl, 10*time.Second), session(dying, time.Second)
	lease, err := owner.Semaphore("job").Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := brief.Ephemeral("brief").Lock(ctx); err != nil {
		t.Fatal(err)
	}
	waiting := func(n int) func() bool {
		return func() bool {
			d, err := cl.Node("/moves").Describe(ctx, "job", client.WithWaiters())
			return err == nil && len(d.Waiters) == n
		}
	}
	granted := make(chan int, 4)
	timedOut := make(chan error, 1)
	var leases [3]*client.Lease
	for i := range 3 {
		s := session(cl, 10*time.Second)
		go func() {
			l, err := s.Semaphore("job").Acquire(ctx)
			if err != nil {
				t.Errorf("waiter %d: %v", i, err)
			}
			leases[i] = l
			granted <- i
		}()
		awaitThat(t, "the acquire waits", waiting(i+1))
	}
	impatient := session(cl, 10*time.Second)
	go func() {
		_, err := impatient.Semaphore("job").Acquire(ctx, client.Wait(time.Second))
		timedOut <- err
	}()
	awaitThat(t, "the acquire waits", waiting(4))

	watching, stop := context.WithCancel(ctx)
	defer stop()
	type seen struct {
		fence uint64
		data  string
	}
	var mu sync.Mutex
	var views []seen
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for v, err := range cl.Node("/moves").Watch(watching, "job") {
			if err != nil {
				if watching.Err() == nil {
					t.Errorf("the watch: %v", err)
				}
				return
			}
			if !v.Exists {
				t.Error("the watch shows no semaphore")
			}
			first, _ := v.First()
			mu.Lock()
			views = append(views, seen{first.OrderID, string(v.Data)})
			mu.Unlock()
		}
	}()
	last := func() seen {
		mu.Lock()
		defer mu.Unlock()
		if len(views) == 0 {
			return seen{}
		}
		return views[len(views)-1]
	}
	awaitThat(t, "the watch shows the owner", func() bool { return last() == seen{lease.Fence(), "config"} })

	m := newMover(t, c)
	job := shard.SlotOf(shard.NodeID(node.ID), []byte("job"))
	_ = dying.Close()
	for range 2 {
		m.move(job)
		m.move(shard.SessionID(owner.ID()).Slot())
		m.move(shard.SessionID(brief.ID()).Slot())
	}
	m.move(job)
	if err := context.Cause(lease.Context()); err != nil {
		t.Fatalf("the lease was lost: %v", err)
	}
	fence := lease.Fence()
	if err := <-timedOut; err != nil && !errors.Is(err, client.ErrNotAcquired) {
		t.Errorf("the impatient acquire: %v", err)
	}
	if err := lease.Release(ctx); err != nil {
		t.Fatal(err)
	}
	for want := range 3 {
		select {
		case got := <-granted:
			if got != want {
				t.Fatalf("waiter %d was granted, not %d", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("waiter %d was not granted", want)
		}
		if f := leases[want].Fence(); f <= fence {
			t.Errorf("the token went from %d to %d", fence, f)
		} else {
			fence = f
		}
		awaitThat(t, "the watch shows the next owner", func() bool { return last() == seen{fence, "config"} })
		m.move(job)
		if err := leases[want].Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	awaitThat(t, "the stopped session has ended", func() bool {
		_, err := cl.DescribeSession(ctx, brief.ID())
		return errors.Is(err, client.ErrSessionExpired)
	})
	awaitThat(t, "its lock is free", func() bool {
		_, err := cl.Node("/moves").Describe(ctx, "brief")
		return errors.Is(err, client.ErrNotFound)
	})
	stop()
	<-watched
}

// TestALeaseOutlivesMovesOfItsHome: after every move the session's client attaches at another shard. The leader there
// relies on no earlier lease. A silent session ends there.
func TestALeaseOutlivesMovesOfItsHome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2))
		ctx := t.Context()
		cl, err := client.Open(ctx, c.Addresses(), client.WithDialer(c.Dial))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		if _, err := cl.CreateNode(ctx, "/moves", client.NodeConfig{SessionGracePeriod: 2 * time.Second}); err != nil {
			t.Fatal(err)
		}
		session := func() *client.Session {
			s, err := cl.Session(ctx, "/moves", client.SessionTimeout(3*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		owner, other := session(), session()
		lease, err := owner.Ephemeral("job").Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		leadMeta(t, c, 1)
		silent := speak(t, c, c.Leader(1))
		gone := shard.SessionID(silent.session("/moves", time.Second).id)
		_ = silent.conn.Close()
		m := newMover(t, c)
		for n := range 4 {
			m.move(shard.SessionID(owner.ID()).Slot())
			m.move(gone.Slot())
			time.Sleep(time.Duration(5*n) * time.Second)
			if err := context.Cause(lease.Context()); err != nil {
				t.Fatalf("after move %d the lease was lost: %v", n, err)
			}
			if _, ok, err := other.Ephemeral("job").TryLock(ctx); ok || err != nil {
				t.Fatalf("after move %d another session has the lock: %v", n, err)
			}
		}
		if _, err := cl.DescribeSession(ctx, uint64(gone)); !errors.Is(err, client.ErrSessionExpired) {
			t.Errorf("the silent session: %v", err)
		}
		if err := lease.Release(ctx); err != nil {
			t.Error(err)
		}
		for _, s := range []*client.Session{owner, other} {
			if err := s.Close(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}
