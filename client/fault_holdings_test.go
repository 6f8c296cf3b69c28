package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

func TestHoldingsAreReadAsStrictlyAsTheCallerAsks(t *testing.T) {
	playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		acquire(t, s.Semaphore(name, client.Limit(1)))
		for _, x := range []struct {
			options []client.HoldingsOption
			want    protocol.Consistency
		}{
			{nil, protocol.ConsistencyUnset},
			{[]client.HoldingsOption{client.HoldingsConsistency(client.Strict)}, protocol.ConsistencyStrict},
			{[]client.HoldingsOption{client.HoldingsConsistency(client.Relaxed)}, protocol.ConsistencyRelaxed},
		} {
			var asked []protocol.Consistency
			fake.on(func(_ *fakeHost, r *protocol.Request) fault {
				if r.Kind == protocol.KindSessionHoldings {
					asked = append(asked, r.SessionHoldings.Consistency)
				}
				return fault{}
			})
			held := 0
			for _, err := range c.Holdings(t.Context(), s.ID(), x.options...) {
				check(t, err)
				held++
			}
			fake.on(nil)
			if held != 1 || len(asked) != 2 || asked[0] != x.want || asked[1] != x.want {
				t.Errorf("%v: %d holdings, asked with %v", x.want, held, asked)
			}
		}
	})
}

// TestAClientLooksAtItsLeasesWhereAHostAsksForIt: a loss without a name means that notices may be missing.
func TestAClientLooksAtItsLeasesWhereAHostAsksForIt(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		before := fake.count(protocol.KindSessionHoldings)
		fake.do(func() {
			x := fake.sessions[s.ID()]
			x.conn.push(0, &protocol.HoldingLost{SessionID: x.id})
		})
		eventually(t, 5*time.Second, "the client asks what its session holds",
			func() bool { return fake.count(protocol.KindSessionHoldings) > before })
		check(t, lease.Err())
	})
}

// TestALeaseIsVerifiedByItsOrderID: while the client was away its semaphore was deleted by force and recreated, and a
// late copy of a change took effect. The session now holds the semaphore under another order id: the lease is lost.
func TestALeaseIsVerifiedByItsOrderID(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		other := acquire(t, s.Semaphore("other", client.Limit(1)))
		fake.do(func() {
			x, of := fake.sessions[s.ID()], fake.shards[0]
			replaced := shard.Command{Node: shard.NodeID(x.node), Name: []byte(name), Count: 1}
			remove, create, late := replaced, replaced, replaced
			remove.Kind, remove.Flags = shard.CmdSemaphoreDelete, shard.FlagForce
			create.Kind, late.Kind = shard.CmdSemaphoreCreate, shard.CmdAcquire
			late.Session, late.Number = shard.SessionID(x.id), 1000
			var unreported shard.Effects
			of.machine.Apply(of.batch(remove, create, late), &unreported)
			if last := unreported.List[len(unreported.List)-2]; last.Flags&shard.FlagAcquired == 0 {
				t.Errorf("the late change: %+v", last)
			}
			x.conn.push(0, &protocol.HoldingLost{SessionID: x.id})
		})
		eventually(t, time.Second, "the lease was lost", func() bool {
			return errors.Is(lease.Err(), client.ErrLeaseLost)
		})
		check(t, other.Err())
	})
}

// TestALeaseInADroppedNodeEndsWithItsNode: the lease's reason is the missing node, not the missing semaphore.
func TestALeaseInADroppedNodeEndsWithItsNode(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		fake.do(func() {
			x := fake.sessions[s.ID()]
			x.conn.push(0, &protocol.HoldingLost{
				SessionID: x.id, NodeID: x.node, Name: []byte(name), OrderID: lease.Fence(),
				Reason: protocol.AbortNodeDropped,
			})
		})
		<-lease.Context().Done()
		end, ok := lease.Err().(*client.SessionEnd)
		if !ok || end.Reason != client.EndNodeDropped {
			t.Errorf("the lease ended with %v", lease.Err())
		}
		if s.Err() == nil {
			t.Error("the session goes on")
		}
	})
}

// TestWhatAShardThatWasMadeAnewDoesNotListIsLostAtOnce: the shard refuses all acquires while clients may trust old
// leases. Neither an open change nor another shard may delay the client's notice.
func TestWhatAShardThatWasMadeAnewDoesNotListIsLostAtOnce(t *testing.T) {
	renewed := func(t *testing.T, s *fakeShard) *machine.Machine {
		m, err := s.machine.Renew(machine.Renewal{Group: 1, Jump: machine.JumpOver(time.Minute)})
		check(t, err)
		return m
	}
	lead := func(s *fakeShard, m *machine.Machine) {
		s.machine = m
		s.newTerm()
	}
	// lost has the client look, and wants leases to be lost soon.
	lost := func(t *testing.T, fake *fakeCluster, s *client.Session, leases ...*client.Lease) {
		t.Helper()
		fake.do(func() {
			x := fake.sessions[s.ID()]
			x.conn.push(0, &protocol.HoldingLost{SessionID: x.id})
		})
		eventually(t, time.Second, "all leases are lost", func() bool {
			return !slices.ContainsFunc(leases, func(l *client.Lease) bool {
				return !errors.Is(l.Err(), client.ErrLeaseLost)
			})
		})
	}
	// remote returns a session, a shard other than the session's home, and names in the shard.
	remote := func(t *testing.T, fake *fakeCluster, c *client.Client) (*client.Session, *fakeShard, []string) {
		s := session(t, c)
		of := fake.shards[2-fake.home(s.ID()).id]
		var names []string
		for i := 0; len(names) < 3; i++ {
			if name := fmt.Sprint("lock-", i); fake.shardOf(slotOf(s.ID(), fake, name)) == of {
				names = append(names, name)
			}
		}
		return s, of, names
	}
	for _, x := range []struct {
		title  string
		status protocol.Status // the status that refuses the change
		wait   uint64          // how long the refused change is to wait, in milliseconds
		early  bool            // whether the new group lacks the acquires
	}{
		{"a change that is refused again and again", protocol.StatusOverloaded, 1, false},
		{"a change that waits after a refusal", protocol.StatusOverloaded, 60_000, false},
		{"a change for which a host has no room", protocol.StatusStorageFull, 60_000, false},
		{"acquires that the new group does not know", protocol.StatusOverloaded, 60_000, true},
	} {
		t.Run(x.title, func(t *testing.T) {
			playFake(t, 1, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				s, of, names := remote(t, fake, c)
				var anew *machine.Machine
				fake.do(func() { anew = renewed(t, of) })
				pool := acquire(t, s.Semaphore(names[0], client.Limit(2)), client.Count(2))
				lock := acquire(t, s.Semaphore(names[1], client.Limit(1)))
				other := acquire(t, s.Semaphore(names[2], client.Limit(1)))
				fake.do(func() {
					if !x.early {
						anew = renewed(t, of)
					}
					lead(of, anew)
				})
				fake.on(func(_ *fakeHost, r *protocol.Request) fault {
					if r.Kind == protocol.KindAcquire && r.Acquire.Count == 1 && string(r.Acquire.Name) == names[0] {
						return fault{refuse: &protocol.Result{Status: x.status, WaitMillis: x.wait}}
					}
					return fault{}
				})
				ctx, cancel := context.WithCancel(t.Context())
				changed := make(chan error, 1)
				go func() { changed <- pool.Change(ctx, client.Count(1)) }()
				eventually(t, time.Second, "the change is refused",
					func() bool { return fake.count(protocol.KindAcquire) > 2 })
				lost(t, fake, s, pool, lock, other)
				cancel()
				if err := <-changed; err == nil {
					t.Error("the change was Success")
				}
			})
		})
	}
	t.Run("another shard that does not answer", func(t *testing.T) {
		for range 8 { // the client asks the shards in any order
			playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				s, of, names := remote(t, fake, c)
				lease := acquire(t, s.Semaphore(names[0], client.Limit(1)))
				for i := 0; ; i++ {
					name := fmt.Sprint("other-", i)
					if fake.shardOf(slotOf(s.ID(), fake, name)) != of {
						acquire(t, s.Semaphore(name, client.Limit(1)))
						break
					}
				}
				fake.do(func() { lead(of, renewed(t, of)) })
				asked := 0
				fake.on(func(_ *fakeHost, r *protocol.Request) fault {
					if r.Kind != protocol.KindSessionHoldings {
						return fault{}
					}
					if r.SessionHoldings.ShardID != of.id {
						return fault{ignore: true}
					}
					if asked++; asked == 1 { // the shard is asked again, although the other shard still does not answer
						return fault{refuse: &protocol.Result{Status: protocol.StatusUnavailable}}
					}
					return fault{}
				})
				lost(t, fake, s, lease)
			})
		}
	})
	t.Run("another lease of which no host says anything", func(t *testing.T) {
		for range 8 { // the client asks about leases in any order
			playFake(t, 1, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				s, of, names := remote(t, fake, c)
				acquire(t, s.Semaphore(names[0], client.Limit(1)))
				lease := acquire(t, s.Semaphore(names[1], client.Limit(1)))
				fake.do(func() { lead(of, renewed(t, of)) })
				fake.on(func(_ *fakeHost, r *protocol.Request) fault {
					return fault{ignore: r.Kind == protocol.KindAcquire && string(r.Acquire.Name) == names[0]}
				})
				lost(t, fake, s, lease)
			})
		}
	})
}

// TestLeasesInARebuiltShardAreLost: this holds for a pushed loss and for a loss in an attach answer, even if the shard
// still lists the holdings. Leases in other slots stay, also under order ids of the rebuilt shard. The client releases
// what it gives up.
func TestLeasesInARebuiltShardAreLost(t *testing.T) {
	for _, pushed := range []bool{true, false} {
		t.Run(fmt.Sprint("pushed=", pushed), func(t *testing.T) {
			playFake(t, 1, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				s := session(t, c)
				slots := make(map[string]shard.Slot)
				names := make(map[uint64][]string) // by shard
				fake.do(func() {
					for i := range 64 {
						n := fmt.Sprint("lock-", i)
						slots[n] = shard.SlotOf(shard.NodeID(fake.nodes[path].ID), []byte(n))
						of := fake.shardOf(slots[n]).id
						names[of] = append(names[of], n)
					}
				})
				take := func(of uint64) *client.Lease {
					n := names[of][0]
					names[of] = names[of][1:]
					return acquire(t, s.Semaphore(n, client.Limit(1)))
				}
				const class = shard.MaxShard + 1 // distance of two order ids of a shard
				hear := func(fence uint64, names ...string) {
					var set shard.SlotSet
					for _, n := range names {
						set.Add(slots[n], slots[n])
					}
					fake.do(func() {
						x := fake.sessions[s.ID()]
						fake.lost = protocol.List[protocol.LostHoldings, *protocol.LostHoldings]{}
						if pushed {
							x.conn.push(0, &protocol.HoldingLost{SessionID: x.id, OrderID: fence, Slots: set.Bytes()})
						}
						fake.lost.Append(protocol.LostHoldings{Fence: fence, Slots: set.Bytes()})
					})
					if !pushed {
						fake.cut()
					}
				}
				first, arrived, left, other := take(1), take(2), take(1), take(2)
				hear(first.Fence(), first.Name(), names[1][0]) // not below
				check(t, first.Err())
				again := take(1)
				late, later := names[1][0], names[2][0]

				asked, released := fake.count(protocol.KindSessionHoldings), fake.count(protocol.KindRelease)
				fence := again.Fence() + 2*class // above the next order id of both shards
				hear(fence, first.Name(), again.Name(), arrived.Name(), late, later)
				eventually(t, time.Second, "the leases in the slots are lost", func() bool {
					return errors.Is(first.Err(), client.ErrLeaseLost) && errors.Is(again.Err(), client.ErrLeaseLost) &&
						errors.Is(arrived.Err(), client.ErrLeaseLost)
				})
				if n := fake.count(protocol.KindSessionHoldings); pushed && n != asked {
					t.Error("a host of the shard was asked")
				}
				check(t, left.Err())
				check(t, other.Err())
				l, err := s.Semaphore(late, client.Limit(1)).Acquire(t.Context())
				if err == nil && l.Err() == nil {
					t.Errorf("a lease under %d is held", l.Fence())
				}
				check(t, acquire(t, s.Semaphore(later, client.Limit(1))).Err()) // by a shard that was not rebuilt
				eventually(t, time.Second, "what was given up is released", func() bool {
					return fake.count(protocol.KindRelease) == released+4
				})
				check(t, acquire(t, s.Semaphore(late, client.Limit(1))).Err())
			})
		})
	}
}
