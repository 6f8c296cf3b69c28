package client_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

func TestRequestsGoStraightToTheLeader(t *testing.T) {
	playFake(t, 3, 3, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		moved := 0
		fake.on(func(h *fakeHost, r *protocol.Request) fault {
			if m, name := mutationOf(r); m != nil {
				s := fake.shardOf(slotOf(m.SessionID, fake, name))
				if fake.hosts[s.leader] != h {
					moved++
				}
			}
			return fault{}
		})
		s := session(t, c)
		for i := range 20 {
			acquire(t, s.Semaphore(string(rune('a'+i)), client.Limit(1)))
		}
		if moved != 0 {
			t.Errorf("%d went to another host", moved)
		}
		fake.lead(1)
		synctest.Wait()
		for i := range 20 {
			_, err := s.Semaphore(string(rune('a' + i))).Release(t.Context())
			check(t, err)
		}
		if moved > 3 {
			t.Errorf("after the leaders moved, %d went to another host", moved)
		}
	})
}

// TestAThousandSessionsOfAClientShareAHost: one ping keeps all sessions alive.
func TestAThousandSessionsOfAClientShareAHost(t *testing.T) {
	playFake(t, 3, 3, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		begun := make(map[*fakeHost]int)
		fake.on(func(h *fakeHost, r *protocol.Request) fault {
			if r.Kind == protocol.KindSessionStart {
				begun[h]++
			}
			return fault{}
		})
		for range 1001 {
			session(t, c)
		}
		if counts := slices.Sorted(maps.Values(begun)); !slices.Equal(counts, []int{1, 1000}) {
			t.Errorf("sessions by host: %v", counts)
		}
	})
}

func TestHostsThatSendInCirclesAreNotFloodedAndTheContextIsHonoured(t *testing.T) {
	playFake(t, 2, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		sem := session(t, c).Semaphore(name)
		check(t, sem.Create(t.Context(), 1, nil))
		n := 0
		fake.on(func(h *fakeHost, r *protocol.Request) fault {
			if r.Kind != protocol.KindAcquire {
				return fault{}
			}
			n++
			other := fake.hosts[2-h.id]
			return fault{refuse: &protocol.Result{Status: protocol.StatusMoved, Moved: protocol.Moved{
				ShardID: 1, LeaderHostID: other.id, LeaderAddress: other.address, RoutingVersion: 1,
			}}}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := sem.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if n < 5 || n > 200 {
			t.Errorf("it was sent %d times", n)
		}
	})
}

func TestAHostThatGoesAwayIsLeftInPeace(t *testing.T) {
	playFake(t, 2, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.lead(0)
		s := session(t, c)
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		w := watching(t, t.Context(), c, name)
		var dials int
		fake.do(func() {
			fake.meta = 1
			fake.shards[0].moveTo(1)
			h := fake.hosts[0]
			dials = h.dials
			for conn := range h.conns {
				conn.push(0, &protocol.GoingAway{Result: protocol.Result{Status: protocol.StatusUnavailable,
					WaitMillis: 5000}})
			}
		})
		time.Sleep(4 * time.Second)
		check(t, lease.Err())
		check(t, lease.Update(t.Context(), []byte("x")))
		waitForQuiet()
		if v := must(w); string(v.Data) != "x" {
			t.Errorf("the watch shows %q", v.Data)
		}
		fake.do(func() {
			if n := fake.hosts[0].dials - dials; n > 0 {
				t.Errorf("it was dialled %d times", n)
			}
		})
	})
}

func TestANewRoutingIsAskedForWhenAHostTells(t *testing.T) {
	playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		synctest.Wait()
		before := fake.count(protocol.KindRouting)
		fake.do(func() {
			fake.version++
			for _, h := range fake.hosts {
				for conn := range h.conns {
					conn.push(0, &protocol.RoutingChanged{Version: fake.version})
					conn.push(0, &protocol.RoutingChanged{Version: fake.version})
				}
			}
		})
		synctest.Wait()
		time.Sleep(time.Second)
		if n := fake.count(protocol.KindRouting) - before; n < 1 || n > 3 {
			t.Errorf("asked %d times", n)
		}
		check(t, c.Ping(t.Context()))
	})
}

// TestWhoWaitsForALeaderComesWhenThereIsOne: all waiting requests come soon, not one by one as their pauses end. A
// host's statements about an earlier term are ignored.
func TestWhoWaitsForALeaderComesWhenThereIsOne(t *testing.T) {
	playFake(t, 3, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		announce := func(term uint64, leader int) {
			fake.do(func() {
				for _, h := range fake.hosts {
					for conn := range h.conns {
						conn.push(0, &protocol.RoutingChanged{
							Version: fake.version, ShardID: 1, LeaderHostID: fake.hosts[leader].id, Term: term,
						})
					}
				}
			})
		}
		s := session(t, c)
		locked := make(chan error)
		fake.take(0)
		time.Sleep(time.Second) // the session waits for its leader
		const callers = 20
		for i := range callers {
			go func() {
				_, err := s.Semaphore(string(rune('a'+i)), client.Limit(1)).Acquire(t.Context())
				locked <- err
			}()
		}
		time.Sleep(5 * time.Second)
		fake.lead(1)
		announce(8, 1)
		began := time.Now()
		for range callers {
			check(t, <-locked)
		}
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("the last has its lock %v after there is a leader", took)
		}
		fake.bring(0)
		asked := 0
		fake.on(func(h *fakeHost, r *protocol.Request) fault {
			if r.Kind == protocol.KindRelease && h.id == 1 {
				asked++
			}
			return fault{}
		})
		announce(7, 0)
		synctest.Wait()
		for i := range callers {
			_, err := s.Semaphore(string(rune('a' + i))).Release(t.Context())
			check(t, err)
		}
		if asked > 0 {
			t.Errorf("the leader of an earlier term is asked %d times", asked)
		}
	})
}

// TestAClientThatAsksForNothingHearsOfHostsThatCome: an idle client learns of new hosts, even after its last connection
// was lost; otherwise it would know no remaining host.
func TestAClientThatAsksForNothingHearsOfHostsThatCome(t *testing.T) {
	playFake(t, 2, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		check(t, c.Ping(t.Context()))
		fake.cut()
		time.Sleep(time.Minute)
		fake.do(func() {
			fake.hosts = append(fake.hosts, &fakeHost{
				cluster: fake, id: 3, address: "host-3", conns: make(map[*fakeConn]struct{}),
			})
			fake.version++
			for _, h := range fake.hosts {
				for conn := range h.conns {
					conn.push(0, &protocol.RoutingChanged{Version: fake.version})
				}
			}
		})
		time.Sleep(time.Minute)
		fake.lead(2)
		fake.take(0)
		fake.take(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		check(t, c.Node(path).Create(ctx, name, 1, nil))
	})
}

// TestAHostThatHasLeftIsForgotten: no list has the host any more, even if a host names it as an old leader. The client
// keeps trying its configured addresses, since another host may answer there.
func TestAHostThatHasLeftIsForgotten(t *testing.T) {
	playFake(t, 3, 1, func(t *testing.T, fake *fakeCluster, given *client.Client) {
		c, err := client.Open(t.Context(), fake.hosts[0].address, client.WithDialer(fake.dial))
		check(t, err)
		defer c.Close()
		lists := func(c *client.Client, want ...uint64) {
			t.Helper()
			list, err := c.Status(t.Context())
			check(t, err)
			var ids []uint64
			for _, h := range list {
				ids = append(ids, h.ID)
			}
			if slices.Sort(ids); !slices.Equal(ids, want) {
				t.Errorf("the client lists hosts %v, not %v", ids, want)
			}
		}
		lists(given, 1, 2, 3)
		lists(c, 1, 2, 3)
		sem := session(t, c).Semaphore(name)
		check(t, sem.Create(t.Context(), 1, nil))
		fake.take(2)
		fake.do(func() { fake.hosts[2].expelled = true; fake.version++ })
		time.Sleep(time.Second)
		lists(given, 0, 1, 2)
		lists(c, 1, 2)
		fake.do(func() { fake.hosts = fake.hosts[:2]; fake.version++ }) // the client forgets the record
		named := false
		fake.on(func(_ *fakeHost, r *protocol.Request) fault {
			if r.Kind != protocol.KindAcquire || named {
				return fault{}
			}
			named = true
			return fault{refuse: &protocol.Result{Status: protocol.StatusMoved, Moved: protocol.Moved{
				ShardID: 1, LeaderHostID: 3, RoutingVersion: 1,
			}}}
		})
		acquire(t, sem)
		if lists(c, 1, 2); !named {
			t.Error("no host has named the leader of long ago")
		}
	})
}

// TestAClientThatIsAloneAsksSeldom: without hosts the client stays almost idle.
func TestAClientThatIsAloneAsksSeldom(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.take(0)
		before := 0
		fake.do(func() { before = fake.hosts[0].dials })
		time.Sleep(10 * time.Minute)
		fake.do(func() {
			if n := fake.hosts[0].dials - before; n < 30 || n > 600 {
				t.Errorf("it has tried %d times in ten minutes", n)
			}
		})
		fake.bring(0)
		time.Sleep(time.Minute)
		fake.do(func() {
			if len(fake.hosts[0].conns) != 1 {
				t.Errorf("it has %d connections", len(fake.hosts[0].conns))
			}
		})
	})
}

// relaxed reads the semaphore from whatever host the client likes.
func relaxed(t *testing.T, c *client.Client) {
	t.Helper()
	if _, err := c.Node(path).Describe(t.Context(), name, client.WithConsistency(client.Relaxed)); err != nil {
		t.Fatal(err)
	}
}

func TestEachClientReadsFromAHomeOfItsOwnAndElsewhereWhereThatIsDown(t *testing.T) {
	playFake(t, 3, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		check(t, c.Node(path).Create(t.Context(), name, 1, nil))
		asked := make(map[uint64]int)
		fake.on(func(h *fakeHost, r *protocol.Request) fault {
			if r.Kind == protocol.KindSemaphoreDescribe {
				asked[h.id]++
			}
			return fault{}
		})
		homes := make(map[uint64]bool)
		for range 40 {
			clear(asked)
			other := open(t, fake)
			for range 5 {
				relaxed(t, other)
			}
			if len(asked) != 1 {
				t.Errorf("one client asked %v", asked)
			}
			for id := range asked {
				homes[id] = true
			}
		}
		if len(homes) != 3 {
			t.Errorf("40 clients have their homes at %v", homes)
		}

		clear(asked)
		relaxed(t, c)
		home := 0
		for id := range asked {
			home = int(id) - 1
		}
		dials := 0
		fake.do(func() { dials = fake.hosts[home].dials })
		fake.take(home)
		before := fake.count(protocol.KindRouting)
		for range 60 {
			relaxed(t, c)
		}
		if n := fake.count(protocol.KindRouting) - before; n > 10 {
			t.Errorf("the routing was asked for %d times", n)
		}
		fake.do(func() {
			if n := fake.hosts[home].dials - dials; n > 20 {
				t.Errorf("a host that is down was dialled %d times", n)
			}
		})
	})
}

func TestStrictReadsGoToTheLeader(t *testing.T) {
	playFake(t, 3, 1, func(t *testing.T, fake *fakeCluster, _ *client.Client) {
		asked := make(map[uint64]int)
		for range 10 {
			c := open(t, fake)
			_ = c.Node(path).Create(t.Context(), name, 1, nil) // all but the first find an existing semaphore
			fake.on(func(h *fakeHost, r *protocol.Request) fault {
				if r.Kind == protocol.KindSemaphoreDescribe {
					asked[h.id]++
				}
				return fault{}
			})
			describe(t, c)
		}
		if len(asked) != 1 {
			t.Errorf("asked: %v", asked)
		}
	})
}

func TestADeadClusterIsNotFlooded(t *testing.T) {
	playFake(t, 3, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		for range 50 {
			s := session(t, c, client.SessionTimeout(time.Minute))
			acquire(t, s.Semaphore(name, client.Limit(100)))
		}
		for i := range 3 {
			fake.take(i)
		}
		before := 0
		fake.do(func() {
			for _, h := range fake.hosts {
				before += h.dials
			}
		})
		time.Sleep(30 * time.Second)
		fake.do(func() {
			n := -before
			for _, h := range fake.hosts {
				n += h.dials
			}
			if n > 600 {
				t.Errorf("%d dials in 30 seconds", n)
			}
		})
	})
}

// moves are the requests for a name with a moving slot: the number of changes at each host, and the reads' results.
type moves struct {
	changes     map[uint64]int
	generations []uint64 // from reads and watches
}

func (m *moves) note(h *fakeHost, r *protocol.Request) fault {
	switch r.Kind {
	case protocol.KindSemaphoreDescribe:
		m.generations = append(m.generations, r.SemaphoreDescribe.Generation)
	case protocol.KindWatch:
		m.generations = append(m.generations, r.Watch.Generation)
	default:
		if change, _ := mutationOf(r); change != nil {
			m.changes[h.id]++
		}
	}
	return fault{}
}

// movable prepares a cluster of two shards, before its first session, for moves of a name's slot: from the first host's
// shard old to the second host's shard now.
func (f *fakeCluster) movable(name string) (slot shard.Slot, old, now *fakeShard) {
	f.do(func() {
		slot = shard.SlotOf(shard.NodeID(f.nodes[path].ID), []byte(name))
		old = f.shardOf(slot)
		i := int(2 - old.id)
		now = newFakeShard(f, i, 2, slot)
		f.shards[i] = now
		old.moveTo(0)
		now.moveTo(1)
	})
	return slot, old, now
}

// refresh has the clients read the routing anew.
func refresh(fake *fakeCluster) {
	fake.do(func() {
		fake.version++
		for _, h := range fake.hosts {
			for conn := range h.conns {
				conn.push(0, &protocol.RoutingChanged{Version: fake.version})
			}
		}
	})
	synctest.Wait()
}

func TestASlotThatMovedIsFoundAndNamedAndNoOldTableTakesItBack(t *testing.T) {
	playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		slot, old, now := fake.movable(name)
		sem := session(t, c).Semaphore(name, client.Limit(1))
		came := &moves{}
		move := func(to *fakeShard, generation uint64) {
			fake.do(func() {
				came.changes, came.generations = make(map[uint64]int), nil
				fake.places = map[shard.Slot]fakePlace{slot: {to, generation}}
			})
		}
		use := func(what string, owner int, generation uint64) {
			t.Helper()
			lease := acquire(t, sem)
			refresh(fake) // the table is from before
			check(t, lease.Release(t.Context()))
			for range 3 {
				_, err := sem.Describe(t.Context())
				check(t, err)
			}
			watched, stop := context.WithCancel(t.Context())
			watching(t, watched, c, name)
			waitForQuiet()
			stop()
			fake.do(func() {
				if at, elsewhere := came.changes[fake.hosts[owner].id], came.changes[fake.hosts[1-owner].id]; at < 2 ||
					elsewhere > 1 {
					t.Errorf("%s: of the changes %d came to the owner, and %d to another host", what, at, elsewhere)
				}
				if len(came.generations) < 4 {
					t.Errorf("%s: %d reads", what, len(came.generations))
				}
				for _, g := range came.generations {
					if g != generation {
						t.Errorf("%s: the reads name the generations %d", what, came.generations)
					}
				}
			})
		}
		fake.on(came.note)
		fake.do(func() { came.changes = make(map[uint64]int) })
		use("before", 0, 0)
		move(now, 1)
		use("moved", 1, 1)
		move(old, 2)
		use("moved back", 0, 2)
		// A lagging host names the former place: the client does not go there.
		move(old, 2)
		lagging := protocol.Moved{ShardID: now.id, Slot: uint64(slot), Generation: 1}
		fake.do(func() {
			lagging.LeaderHostID, lagging.LeaderAddress = fake.hosts[1].id, fake.hosts[1].address
		})
		lags := 1
		fake.on(func(h *fakeHost, r *protocol.Request) fault {
			if r.Kind == protocol.KindAcquire && lags > 0 {
				lags--
				return fault{refuse: &protocol.Result{Status: protocol.StatusMoved, Moved: lagging}}
			}
			return came.note(h, r)
		})
		use("beside a host that lags", 0, 2)
		fake.do(func() {
			if n := came.changes[fake.hosts[1].id]; n > 0 {
				t.Errorf("%d changes went where the slot had been", n)
			}
		})
	})
}

func TestATableWithGenerationsCountsMoreThanWhatIsKnownOfLowerOnes(t *testing.T) {
	playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		slot, _, now := fake.movable(name)
		sem := session(t, c).Semaphore(name, client.Limit(1))
		came := &moves{changes: make(map[uint64]int)}
		fake.do(func() {
			fake.places = map[shard.Slot]fakePlace{slot: {now, 7}}
			fake.tells = true
		})
		fake.on(came.note)
		refresh(fake)
		check(t, acquire(t, sem).Release(t.Context()))
		_, err := sem.Describe(t.Context())
		check(t, err)
		fake.do(func() {
			if n := came.changes[fake.hosts[0].id]; n > 0 {
				t.Errorf("%d changes went where the slot had been", n)
			}
			if len(came.generations) != 1 || came.generations[0] != 7 {
				t.Errorf("the reads name the generations %d", came.generations)
			}
		})
	})
}

// TestReadThatMeetsTwoBadHostsAsksTheThird: from any first host, a read tries each host once before it repeats one.
func TestReadThatMeetsTwoBadHostsAsksTheThird(t *testing.T) {
	for _, consistency := range []client.Consistency{client.Relaxed, client.Strict} {
		t.Run(consistency.String(), func(t *testing.T) {
			playFake(t, 3, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				check(t, c.Node(path).Create(t.Context(), name, 1, nil))
				for range 20 { // clients begin at random hosts
					c := open(t, fake)
					var asked []uint64
					fake.on(func(h *fakeHost, r *protocol.Request) fault {
						if r.Kind != protocol.KindSemaphoreDescribe {
							return fault{}
						}
						if asked = append(asked, h.id); h.id == 2 {
							return fault{}
						}
						return fault{refuse: &protocol.Result{Status: protocol.StatusUnavailable}}
					})
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					_, err := c.Node(path).Describe(ctx, name, client.WithConsistency(consistency))
					cancel()
					check(t, err)
					if len(asked) > 3 {
						t.Errorf("the read asked the hosts %v", asked)
					}
				}
			})
		})
	}
}

// TestSessionIsStartedAtTheThirdLeader: the session starts at the third leader after two leaders failed.
func TestSessionIsStartedAtTheThirdLeader(t *testing.T) {
	playFake(t, 3, 3, func(t *testing.T, fake *fakeCluster, _ *client.Client) {
		for range 20 {
			c := open(t, fake)
			var asked []uint64
			fake.on(func(h *fakeHost, r *protocol.Request) fault {
				if r.Kind != protocol.KindSessionStart {
					return fault{}
				}
				if asked = append(asked, h.id); h.id == 3 {
					return fault{}
				}
				return fault{refuse: &protocol.Result{Status: protocol.StatusUnavailable}}
			})
			session(t, c)
			if len(asked) > 3 {
				t.Errorf("the start asked the hosts %v", asked)
			}
		}
	})
}
