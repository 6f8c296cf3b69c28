package server_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/slots"
	"github.com/signalbox/signalbox/test/memlog"
)

// open returns a client of the cluster, and a session of a node.
func (s *sealing) open(timeout time.Duration) (*client.Client, *client.Session) {
	s.Helper()
	cl, err := client.Open(s.Context(), s.Addresses(), client.WithDialer(s.Dial))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = cl.Close() })
	session, err := cl.Session(s.Context(), "/moves", client.SessionTimeout(timeout))
	if err != nil {
		s.Fatal(err)
	}
	return cl, session
}

// TestASlotStaysIfItsShardsCannotReachEachOther: the governor has the target refuse the slot, and the source keep the
// slot. The order is tried again later.
func TestASlotStaysIfItsShardsCannotReachEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealing(t)
		slot, names := s.names(0, 1)
		s.offers.hold(1)
		if e, err := s.Do(&meta.SlotMove{Slot: slot, To: 2}); err != nil || e.Status != protocol.StatusSuccess {
			t.Fatal(e.Status, err)
		}
		state := func() slots.Slot { return s.Host(1).SlotIn(1, slot) }
		awaitThat(t, "the slot is sealed", func() bool { return state().State == slots.Sealed })
		sealed := time.Now()
		awaitThat(t, "the slot is owned again", func() bool { return state().State == slots.Owned })
		want(t, "the generation", state().Generation, 2)
		if took := time.Since(sealed); took > 2*time.Second {
			t.Errorf("the slot was sealed for %v", took)
		}
		awaitThat(t, "both attempts have failed", func() bool {
			o := s.Records().SlotOrder(slot)
			return o != nil && o.Failures == 2 && s.Records().Slots().Of(slot).Generation == 4
		})
		operator := speak(t, s.Cluster, 1)
		operator.must(operator.ask(s.create(names[0])))
		s.offers.pass(1)
		time.Sleep(hosts.SlotDelayMillis * time.Millisecond)
		awaitThat(t, "the slot moves", func() bool { return s.Host(2).SlotIn(2, slot).State == slots.Owned })
		want(t, "the generation", s.Host(2).SlotIn(2, slot).Generation, 5)
	})
}

// TestASilentSessionEndsAfterTimeoutAndGraceOfItsLastMove: not before, though the slot moves twice within one grace
// period, and not much later.
func TestASilentSessionEndsAfterTimeoutAndGraceOfItsLastMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealing(t)
		const timeout, grace, tolerance = 4 * time.Second, 6 * time.Second, time.Second
		cl, _ := s.open(time.Minute)
		if _, err := cl.AlterNode(t.Context(), "/moves", client.NodeConfig{SessionGracePeriod: grace}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // until all rely on the new grace period
		silent := speak(t, s.Cluster, 1).session("/moves", timeout)
		m, slot := newMover(t, s.Cluster), shard.SessionID(silent.id).Slot()
		_ = silent.s.conn.Close()
		time.Sleep(timeout / 2)
		want(t, "the first move", m.move(slot), protocol.SlotOpened)
		time.Sleep(grace / 2)
		before := time.Now()
		want(t, "the second move", m.move(slot), protocol.SlotOpened)
		after := time.Now()
		for {
			_, err := cl.DescribeSession(t.Context(), silent.id)
			if errors.Is(err, client.ErrSessionExpired) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(before); took < timeout+grace {
			t.Errorf("the session ended %v after its last move", took)
		}
		if took := time.Since(after); took > timeout+grace+tolerance {
			t.Errorf("the session ended only %v after its last move", took)
		}
	})
}

// TestASessionWithoutTimeoutSurvivesAMove: the client has the grace period to attach again. Then the session ends with
// the connection.
func TestASessionWithoutTimeoutSurvivesAMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealing(t)
		a := speak(t, s.Cluster, 1).session("/moves", 0)
		_, names := s.names(0, 1)
		_, held := a.acquire(string(names[0]), protocol.Exclusive, 0, true)
		want(t, "the move", newMover(t, s.Cluster).move(shard.SessionID(a.id).Slot()), protocol.SlotOpened)
		detached := a.s.await(0, protocol.KindSessionDetached).SessionDetached
		want(t, "why", detached.Result.Status, protocol.StatusMoved)
		want(t, "where", detached.Result.Moved.ShardID, 2)
		time.Sleep(time.Second)
		want(t, "lives", attached(t, speak(t, s.Cluster, 2), a), true)
		for range 20 { // longer than the grace period
			time.Sleep(time.Second)
			a.s.must(a.s.ask(&protocol.Ping{}))
		}
		d := speak(t, s.Cluster, 1).ask(&protocol.SemaphoreDescribe{NodeID: s.node, Name: names[0],
			IncludeOwners: true})
		for owner := range a.s.must(d).SemaphoreDescribe.Owners.All() {
			want(t, "the token of the owner", owner.OrderID, held.OrderID)
		}
		_ = a.s.conn.Close()
		awaitThat(t, "the session ends", func() bool {
			return speak(t, s.Cluster, 2).ask(&protocol.SessionDescribe{SessionID: a.id}).Result.Status ==
				protocol.StatusSessionExpired
		})
	})
}

// TestAWatchSeesEachChangeOnceThoughItsSlotMoves: the other shard's revisions are far ahead.
func TestAWatchSeesEachChangeOnceThoughItsSlotMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealing(t)
		cl, _ := s.open(time.Minute)
		slot, names := s.names(0, 1)
		node, watched := cl.Node("/moves"), string(names[0])
		ahead := speak(t, s.Cluster, 2)
		for i, n := 0, 0; n < 1000; i++ {
			if name := name("ahead-%d", i); shard.SlotOf(shard.NodeID(s.node), name) >= shard.Slots/2 {
				ahead.must(ahead.ask(s.create(name)))
				n++
			}
		}
		if err := node.Create(t.Context(), watched, 1, []byte{0}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // until all replicas have it
		views := make(chan byte, 100)
		go func() {
			defer close(views)
			for v, err := range node.Watch(t.Context(), watched) {
				if err != nil {
					return
				}
				if !v.Exists {
					t.Error("a view shows no semaphore")
					return
				}
				views <- v.Data[0]
			}
		}()
		m := newMover(t, s.Cluster)
		var seen []byte
		for change := range byte(8) {
			if change > 0 {
				if err := node.Update(t.Context(), watched, []byte{change}); err != nil {
					t.Fatal(err)
				}
			}
			seen = append(seen, <-views)
			want(t, "a move", m.move(slot), protocol.SlotOpened)
			time.Sleep(time.Second) // the watch opens again, and shows nothing
		}
		if !slices.Equal(seen, []byte{0, 1, 2, 3, 4, 5, 6, 7}) || len(views) > 0 {
			t.Errorf("the watch has shown %v, and %d views more", seen, len(views))
		}
	})
}

// TestAWatchWithARevisionOfTheNewShardIsServedOrRedirected: a host that lags behind the move knows lower revisions than
// the client.
func TestAWatchWithARevisionOfTheNewShardIsServedOrRedirected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealing(t)
		slot, names := s.names(0, 1)
		lagging, there := speak(t, s.Cluster, 3), speak(t, s.Cluster, 2)
		s.Isolate(3)
		for i, n := 0, 0; n < 100; i++ {
			if name := name("ahead-%d", i); shard.SlotOf(shard.NodeID(s.node), name) >= shard.Slots/2 {
				there.must(there.ask(s.create(name)))
				n++
			}
		}
		want(t, "the move", newMover(t, s.Cluster).move(slot), protocol.SlotOpened)
		since := there.must(there.ask(s.create(names[0]))).SemaphoreCreate.Revision
		want(t, "the slot at the lagging host", s.Host(3).SlotIn(1, slot).State, slots.Owned)
		watch := &protocol.Watch{NodeID: s.node, Name: names[0], Data: true, Since: since, Generation: 1}
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			switch a := lagging.ask(watch); a.Result.Status {
			case protocol.StatusUnavailable:
				if time.Now().After(end) {
					t.Fatal(a.Result.Err())
				}
				s.Heal()
				continue
			case protocol.StatusMoved:
				want(t, "the shard", a.Result.Moved.ShardID, 2)
			default:
				lagging.must(a)
			}
			break
		}
	})
}

// TestANodeDroppedBetweenTwoShardsIsGone: the node is dropped while a slot is sealed.
func TestANodeDroppedBetweenTwoShardsIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealing(t)
		slot, names := s.names(0, 3)
		operator := speak(t, s.Cluster, 1)
		for _, name := range names {
			operator.must(operator.ask(s.create(name)))
		}
		s.offers.hold(1)
		s.seal(slot)
		for id := uint64(1); id <= 2; id++ { // sessions in the node end with it
			want(t, "semaphores before", s.Host(1).Status().Shards[id-1].Semaphores, 0)
		}
		governor := speak(t, s.Cluster, s.Leader(0))
		governor.must(governor.ask(&protocol.NodeDrop{Path: []byte("/moves"), NodeID: s.node}))
		time.Sleep(time.Second)
		s.offers.pass(1)
		awaitThat(t, "the other shard has the slot", func() bool {
			return s.Host(2).SlotIn(2, slot).State == slots.Owned
		})
		opened := time.Now()
		awaitThat(t, "all is gone", func() bool {
			return s.Host(2).Status().Shards[1].Semaphores == 0 && s.Host(s.Leader(0)).DroppingNodes() == 0
		})
		if took := time.Since(opened); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestALockIsFreeThoughItsSessionEndsBetweenTwoShards: the session ends at its home while the lock's slot is sealed.
// The next in the queue gets the lock where the slot arrives, or where it stays.
func TestALockIsFreeThoughItsSessionEndsBetweenTwoShards(t *testing.T) {
	for what, kept := range map[string]bool{"opened": false, "kept": true} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSealing(t)
				slot, names := s.names(0, 1)
				lock := string(names[0])
				cl, owner := s.open(time.Minute)
				for shard.SessionID(owner.ID()).Slot() < shard.Slots/2 { // at home in the other shard
					_, owner = s.open(time.Minute)
				}
				if _, err := owner.Ephemeral(lock).Lock(t.Context()); err != nil {
					t.Fatal(err)
				}
				_, next := s.open(time.Minute)
				granted := make(chan error, 1)
				go func() {
					_, err := next.Ephemeral(lock).Lock(t.Context())
					granted <- err
				}()
				awaitThat(t, "the next waits", func() bool {
					d, err := cl.Node("/moves").Describe(t.Context(), lock, client.WithWaiters())
					return err == nil && len(d.Waiters) == 1
				})
				if kept {
					if _, err := s.move(protocol.EffectRefuseSlot, slot); err != nil {
						t.Fatal(err)
					}
				}
				s.offers.hold(1)
				s.seal(slot)
				if err := cl.DestroySession(t.Context(), owner.ID()); err != nil {
					t.Fatal(err)
				}
				s.offers.pass(1)
				passed := time.Now()
				if err := <-granted; err != nil {
					t.Fatal(err)
				}
				if took := time.Since(passed); took > 100*time.Millisecond {
					t.Errorf("the lock was free after %v", took)
				}
			})
		})
	}
}

// TestDeletesAreFinalInASlotThatMoves: no deleted name returns, and no other name vanishes.
func TestDeletesAreFinalInASlotThatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealing(t)
		cl, _ := s.open(time.Minute)
		node, strict := cl.Node("/moves"), client.WithConsistency(client.Strict)
		slot, names := s.names(0, 4)
		stop := make(chan struct{})
		done := make([]int, len(names))
		ended := make(chan struct{}, len(names))
		for i, name := range names {
			go func() {
				defer func() { ended <- struct{}{} }()
				for ; ; done[i]++ {
					select {
					case <-stop:
						return
					default:
					}
					if err := node.Create(t.Context(), string(name), 1, nil); err != nil {
						t.Errorf("create %s: %v", name, err)
						return
					}
					if _, err := node.Describe(t.Context(), string(name), strict); err != nil {
						t.Errorf("after its creation %s is described: %v", name, err)
						return
					}
					if err := node.Delete(t.Context(), string(name)); err != nil {
						t.Errorf("delete %s: %v", name, err)
						return
					}
					_, err := node.Describe(t.Context(), string(name), strict)
					if !errors.Is(err, client.ErrNotFound) {
						t.Errorf("after its end %s is described: %v", name, err)
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
		}
		m, moved := newMover(t, s.Cluster), 0
		for range 100 {
			if m.move(slot) == protocol.SlotOpened {
				moved++
			}
			time.Sleep(5 * time.Millisecond)
		}
		close(stop)
		for range names {
			<-ended
		}
		if least := slices.Min(done); moved < 90 || least < 50 {
			t.Errorf("%d moves, and %d turns of each name", moved, least)
		}
	})
}

// TestWhatAShardReportedAsOpenedSurvivesAPowerFailure: all hosts lose unsynced data, right after the target has
// reported the slot as opened.
func TestWhatAShardReportedAsOpenedSurvivesAPowerFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealing(t, servertest.Network(func(c *memlog.Config) {
			c.Disk = memlog.Between(5*time.Millisecond, 20*time.Millisecond)
		}))
		slot, names := s.names(0, 1)
		operator := speak(t, s.Cluster, 1)
		operator.must(operator.ask(s.create(names[0])))
		s.offers.hold(1)
		s.seal(slot)
		opened := make(chan struct{})
		s.offers.opened = opened
		s.offers.pass(1)
		<-opened
		for id := range shard.HostID(3) {
			s.Crash(id+1, true)
		}
		for id := range shard.HostID(3) {
			if err := s.Restart(id + 1); err != nil {
				t.Fatal(err)
			}
		}
		awaitThat(t, "the shards know who has the slot", func() bool {
			first, second := s.Leader(1), s.Leader(2)
			return first != 0 && second != 0 && s.Host(first).SlotIn(1, slot).State == slots.Transferred &&
				s.Host(second).SlotIn(2, slot).State == slots.Owned
		})
		cl, _ := s.open(time.Minute)
		if _, err := cl.Node("/moves").Describe(t.Context(), string(names[0])); err != nil {
			t.Error(err)
		}
	})
}

// TestADelayOfARolloutGoesOnInTheOtherShard: five seconds between two locations, in which the rollout's slot moves.
func TestADelayOfARolloutGoesOnInTheOtherShard(t *testing.T) {
	playRollouts(t, func(t *testing.T, b *rolloutBed) {
		const delay = 5 * time.Second
		m, slot := newMover(t, b.c), shard.SlotOf(shard.NodeID(b.node), dns)
		if m.owner(slot) == 2 {
			want(t, "the move before", m.move(slot), protocol.SlotOpened)
		}
		b.put(locations([]string{"sas", "man"}, 0, delay))
		sas := b.join("a.sas", "sas")
		b.join("a.man", "man")
		seq := b.publish("first")
		want(t, "the target of sas", sas.reach().Seq, seq)
		reached := time.Now()
		time.Sleep(delay / 2)
		want(t, "the move", m.move(slot), protocol.SlotOpened)
		b.s = speak(t, b.c, b.c.Leader(2))
		for b.target("man") != seq {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(reached); took < delay || took > delay+delay/20 {
			t.Errorf("man got its target after %v", took)
		}
	}, servertest.Shards(2))
}
