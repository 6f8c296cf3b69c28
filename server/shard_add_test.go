package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// shards changes the data shards of a cluster that runs.
type shards struct {
	t *testing.T
	c *servertest.Cluster
}

// do carries out a request of an operator or of the governor.
func (s shards) do(r meta.Request) {
	s.t.Helper()
	s.awaitRecords()
	if e, err := s.c.Do(r); err != nil || e.Status != protocol.StatusSuccess {
		s.t.Fatalf("%T: %v, %v: %s", r, err, e.Status, e.Message)
	}
}

// awaitRecords waits until the meta shard has records, and returns them.
func (s shards) awaitRecords() (r *hosts.Records) {
	s.t.Helper()
	awaitThat(s.t, "the meta shard has records", func() bool {
		r = s.c.Records()
		return r != nil
	})
	return r
}

// record is a shard's record, nil if there is none.
func (s shards) record(id uint64) *hosts.Shard { return s.awaitRecords().Shard(hosts.ShardID(id)) }

// add adds a shard, and waits until the shard has its voters and serves.
func (s shards) add(id uint64, on shard.HostID, voters int) {
	s.t.Helper()
	s.do(&meta.ShardAdd{Hosts: []shard.HostID{on}})
	s.serve(id, voters)
}

func (s shards) serve(id uint64, voters int) {
	s.t.Helper()
	awaitThat(s.t, fmt.Sprintf("shard %d serves with %d voters", id, voters), func() bool {
		on := s.record(id)
		return on != nil && on.Voters() == voters && on.Phase == hosts.ShardServing
	})
}

// move moves slots to a shard, by an operator's order for each.
func (s shards) move(to uint64, slots ...shard.Slot) {
	s.t.Helper()
	for _, slot := range slots {
		s.do(&meta.SlotMove{Slot: slot, To: meta.ShardID(to)})
	}
	awaitThat(s.t, fmt.Sprintf("shard %d has %d slots", to, len(slots)), func() bool {
		r := s.c.Records()
		return r != nil && !slices.ContainsFunc(slots, func(slot shard.Slot) bool {
			return r.Slots().Of(slot).Shard != to
		})
	})
}

// remove removes a shard, and waits until every host has deleted it.
func (s shards) remove(id uint64) {
	s.t.Helper()
	if on := s.record(id); on.Phase != hosts.ShardLeaving {
		s.do(&meta.ShardRemove{Shards: []meta.ShardID{meta.ShardID(id)}})
	}
	s.gone(id)
}

// gone waits until the records and every host have forgotten a shard.
func (s shards) gone(id uint64) {
	s.t.Helper()
	awaitThat(s.t, fmt.Sprintf("the replicas of shard %d are deleted", id), func() bool { return s.record(id) == nil })
	awaitThat(s.t, fmt.Sprintf("no host has shard %d", id), func() bool {
		return !slices.ContainsFunc(s.c.Members(), func(host shard.HostID) bool {
			return slices.Contains(s.c.Host(host).ShardSeats(), id)
		})
	})
}

// restart stops and starts every host, one after the other.
func (s shards) restart() {
	s.t.Helper()
	for _, id := range s.c.Members() {
		s.c.Stop(id)
		if err := s.c.Restart(id); err != nil {
			s.t.Fatal(err)
		}
		if err := s.c.WaitReady(patience); err != nil {
			s.t.Fatal(err)
		}
	}
}

// lockers are clients that lock names all the time.
type lockers struct {
	slots []shard.Slot // of all names and sessions
	done  atomic.Int64
	stop  func()
}

// lockAll has sessions lock names until stop is called, and checks owners and tokens.
func lockAll(t *testing.T, c *servertest.Cluster, names, workers int) *lockers {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	cl, err := client.Open(ctx, c.Addresses(), client.WithDialer(c.Dial))
	if err != nil {
		t.Fatal(err)
	}
	node, err := cl.CreateNode(ctx, "/locks", client.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	l := &lockers{}
	name := func(i int) string { return fmt.Sprintf("lock-%d", i) }
	for i := range names {
		l.slots = append(l.slots, shard.SlotOf(shard.NodeID(node.ID), []byte(name(i))))
	}
	inside, fences := make([]atomic.Int32, names), make([]atomic.Uint64, names)
	var running sync.WaitGroup
	stop := make(chan struct{})
	for w := range workers {
		s, err := cl.Session(ctx, "/locks", client.SessionTimeout(20*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		l.slots = append(l.slots, shard.SessionID(s.ID()).Slot())
		running.Go(func() {
			defer s.Close(ctx)
			for i := w; ; i = (i + 1) % names {
				select {
				case <-stop:
					return
				default:
				}
				i %= names
				lock, err := s.Ephemeral(name(i)).Lock(ctx)
				if err != nil {
					t.Errorf("worker %d: %v", w, err)
					return
				}
				if n := inside[i].Add(1); n != 1 {
					t.Errorf("%d owners of %s", n, name(i))
				}
				if before := fences[i].Swap(lock.Fence()); before >= lock.Fence() {
					t.Errorf("the token of %s went from %d to %d", name(i), before, lock.Fence())
				}
				inside[i].Add(-1)
				if err := lock.Release(ctx); err != nil {
					t.Errorf("worker %d releases: %v", w, err)
					return
				}
				if err := context.Cause(s.Context()); err != nil {
					t.Errorf("the session of worker %d has ended: %v", w, err)
					return
				}
				l.done.Add(1)
				time.Sleep(time.Millisecond)
			}
		})
	}
	slices.Sort(l.slots)
	l.slots = slices.Compact(l.slots)
	l.stop = sync.OnceFunc(func() {
		close(stop)
		running.Wait()
		_ = cl.Close()
	})
	t.Cleanup(l.stop)
	return l
}

// goOn waits until the clients have made progress.
func (l *lockers) goOn(t *testing.T) {
	t.Helper()
	before := l.done.Load()
	awaitThat(t, "locks go on", func() bool { return l.done.Load() > before+100 || t.Failed() })
	if t.Failed() {
		t.FailNow()
	}
}

// TestShardsAreAddedAndRemovedWhileClientsWork: an added shard takes slots, survives a restart of every host, and is
// removed after it has given its slots away. Clients notice nothing, and the hosts keep nothing of the shard.
func TestShardsAreAddedAndRemovedWhileClientsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(1))
		s, load := shards{t, c}, lockAll(t, c, 8, 8)
		s.do(&meta.Rebalance{Action: protocol.RebalancePause}) // the slots below move, and no others
		s.add(2, 2, 3)
		for id := range shard.HostID(3) {
			if got := c.Host(id + 1).ShardSeats(); !slices.Equal(got, []uint64{1, 2}) {
				t.Errorf("host %d knows the shards %v", id+1, got)
			}
		}
		s.move(2, load.slots...)
		load.goOn(t)
		s.restart()
		load.goOn(t)
		s.do(&meta.ShardRemove{Shards: []meta.ShardID{2}})
		s.move(1, load.slots...)
		load.goOn(t)
		s.remove(2)
		load.goOn(t)
		s.restart()
		load.goOn(t)
		for id := range shard.HostID(3) {
			if got := c.Host(id + 1).ShardSeats(); !slices.Equal(got, []uint64{1}) {
				t.Errorf("host %d knows the shards %v", id+1, got)
			}
		}
		load.stop()
		// The id stays used.
		s.add(3, 1, 3)
		s.restart()
	})
}

// failing wraps a host's replicas. At the first Renew, failing calls the function first instead.
type failing struct {
	replica.Replicas
	first func(renew func() error) error
}

// Renew implements replica.Replicas.
func (f *failing) Renew(ctx context.Context, id, to, group uint64, before shard.StateMachine,
	renew func() (shard.Saver, error)) error {
	do := func() error { return f.Replicas.Renew(ctx, id, to, group, before, renew) }
	if first := f.first; first != nil {
		f.first = nil
		return first(do)
	}
	return do()
}

// TestAnAddedShardBeginsOnAnotherHostIfItsHostIsLost: at any point of the shard's beginning. The shard takes no slots
// before it has its voters, and the lost host's replica is deleted when the host is back.
func TestAnAddedShardBeginsOnAnotherHostIfItsHostIsLost(t *testing.T) {
	for name, lose := range map[string]func(renew, isolate func() error) error{
		"before it begins":   func(_, isolate func() error) error { return isolate() },
		"after it has begun": func(renew, isolate func() error) error { return errors.Join(renew(), isolate()) },
		"while it begins":    func(renew, isolate func() error) error { return errors.Join(isolate(), renew()) },
		"with an unknown outcome": func(renew, isolate func() error) error {
			return errors.Join(renew(), isolate(), errors.ErrUnsupported)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly waiting
			var c *servertest.Cluster
			isolate := func() error { c.Isolate(3); return nil }
			fails := func(renew func() error) error { return lose(renew, isolate) }
			adapt := servertest.Config(func(config *server.Config) {
				if config.ID == 3 {
					config.Replicas = &failing{config.Replicas, fails}
				}
			})
			c = servertest.Start(t, servertest.Hosts(3), servertest.Shards(1), adapt)
			s := shards{t, c}
			s.do(&meta.Rebalance{Action: protocol.RebalancePause})
			if err := c.Elect(0, 1); err != nil {
				t.Fatal(err)
			}
			s.do(&meta.ShardAdd{Hosts: []shard.HostID{3}})
			began := uint64(0)
			awaitThat(t, "the shard begins elsewhere", func() bool {
				on := s.record(2)
				if on.Phase == hosts.ShardServing {
					t.Fatalf("the shard serves in group %d with %d voters", on.Group, on.Voters())
				}
				began = on.Group
				return began > 1 && on.Change > 0
			})
			c.Heal()
			s.serve(2, 3)
			if on := s.record(2); on.Group != began {
				t.Errorf("the shard is in group %d, and had begun in group %d", on.Group, began)
			}
			if err := c.WaitReady(patience); err != nil {
				t.Fatal(err)
			}
			slot := shard.SlotOf(1, []byte("x"))
			s.move(2, slot)
			s.restart()
			if got := s.record(2); got.Voters() != 3 {
				t.Errorf("the shard has %d voters", got.Voters())
			}
		})
	}
}
