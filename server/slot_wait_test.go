package server_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/peerrpc"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/slots"
	"github.com/signalbox/signalbox/test/memlog"
)

// offers are the offers of sealed slots between hosts. Those from a held host have no answer.
type offers struct {
	mu   sync.Mutex
	held map[shard.HostID]chan struct{} // closed when the host's offers pass again
	// opened, if set, is closed once a shard has answered that it has opened a slot. The answer does not arrive.
	opened chan struct{}
}

func (o *offers) hold(from shard.HostID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held[from] = make(chan struct{})
}

func (o *offers) pass(from shard.HostID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.held[from])
	delete(o.held, from)
}

// holdable is one host's calls.
type holdable struct {
	executor.Calls
	offers *offers
	from   shard.HostID
}

// Call implements executor.Calls.
func (h holdable) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	asked, err := peerrpc.Read(request)
	if err != nil || asked.Kind != protocol.KindSlotOffer || len(asked.SlotOffer.Content) == 0 {
		return h.Calls.Call(ctx, to, request)
	}
	h.offers.mu.Lock()
	held := h.offers.held[h.from]
	h.offers.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	answer, err := h.Calls.Call(ctx, to, request)
	if a, read := peerrpc.Result(protocol.KindSlotOffer, answer); err == nil && read == nil &&
		a.SlotOffer.Outcome == protocol.SlotOpened {
		h.offers.mu.Lock()
		opened := h.offers.opened
		h.offers.opened = nil
		h.offers.mu.Unlock()
		if opened != nil {
			close(opened)
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	return answer, err
}

// sealing is a cluster of three hosts whose slots a test can leave sealed: host 1 leads shard 1, host 2 shard 2.
type sealing struct {
	*testing.T
	*servertest.Cluster
	offers *offers
	node   uint64
}

func newSealing(t *testing.T, options ...servertest.Option) *sealing {
	t.Helper()
	s := &sealing{T: t, offers: &offers{held: make(map[shard.HostID]chan struct{})}}
	s.Cluster = servertest.Start(t, append(options, servertest.Hosts(3), servertest.Shards(2),
		servertest.Config(func(c *server.Config) { c.Calls = holdable{c.Calls, s.offers, c.ID} }))...)
	s.node = nodeAt(t, s.Cluster, "/moves")
	awaitThat(t, "the hosts lead and serve their shards", func() bool {
		serve := true
		for id := range uint64(2) {
			if s.Leader(id+1) != shard.HostID(id+1) {
				_ = s.Elect(id+1, shard.HostID(id+1))
			}
			serve = serve && s.Host(shard.HostID(id + 1)).Status().Shards[id].Serving
		}
		return serve
	})
	return s
}

// names returns names in one slot of shard 1, the nth from a number.
func (s *sealing) names(from, n int) (slot shard.Slot, list [][]byte) {
	for i := from; len(list) < n; i++ {
		name := name("name-%d", i)
		at := shard.SlotOf(shard.NodeID(s.node), name)
		if list == nil && at < shard.Slots/2 || list != nil && at == slot {
			slot, list = at, append(list, name)
		}
	}
	return slot, list
}

// move is an attempt to move a slot from shard 1 to shard 2.
func (s *sealing) move(effect protocol.EffectKind, slot shard.Slot) (protocol.SlotOutcome, error) {
	e := protocol.StepExecute{Effect: effect, ShardID: 1, Into: 2, Slot: uint64(slot), Generation: 1}
	if effect == protocol.EffectRefuseSlot {
		e.ShardID, e.Into = 2, 1
	}
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	outcome, _, err := s.Host(s.Leader(e.ShardID)).MoveSlot(ctx, &e)
	return outcome, err
}

// seal has a slot sealed, and returns once the slot's content is out of the tables.
func (s *sealing) seal(slot shard.Slot) {
	s.Helper()
	go func() { _, _ = s.move(protocol.EffectMoveSlot, slot) }()
	awaitThat(s.T, "the slot is sealed", func() bool { return s.Host(1).SlotIn(1, slot).State == slots.Sealed })
}

func (s *sealing) create(name []byte) *protocol.SemaphoreCreate {
	return &protocol.SemaphoreCreate{NodeID: s.node, Name: name, Limit: 1}
}

// TestRequestsThatWaitedForASlotAreCarriedOutOnce: requests arrive before the seal, behind the seal in the log, and
// while the slot is sealed. The other shard refuses the slot, and each request is carried out and answered once.
func TestRequestsThatWaitedForASlotAreCarriedOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealing(t, servertest.Network(func(c *memlog.Config) {
			c.Path.Delay = memlog.Between(5*time.Millisecond, 5*time.Millisecond)
		}))
		slot, names := s.names(0, 60)
		if outcome, err := s.move(protocol.EffectRefuseSlot, slot); outcome != protocol.SlotKept {
			t.Fatalf("the refuse: %v, %v", outcome, err)
		}
		speaker := speak(t, s.Cluster, 1)
		a := speaker.session("/moves", time.Minute)
		s.offers.hold(1)
		kept := make(chan error, 1)
		go func() {
			outcome, err := s.move(protocol.EffectMoveSlot, slot)
			if outcome != protocol.SlotKept && err == nil {
				err = fmt.Errorf("the outcome is %v", outcome)
			}
			kept <- err
		}()
		var created []uint64
		for _, name := range names[1:] {
			created = append(created, speaker.say(s.create(name)))
			time.Sleep(time.Millisecond)
		}
		lock := protocol.Acquire{Mutation: a.mutation(), NodeID: s.node, Name: names[0], Count: protocol.Exclusive,
			Ephemeral: true}
		acquired := []uint64{speaker.say(&lock), speaker.say(&lock)} // the second is a late copy
		read := speaker.say(&protocol.SemaphoreDescribe{NodeID: s.node, Name: names[1]})
		awaitThat(t, "requests wait", func() bool { return s.Host(1).AwaitingSlots() > 10 })
		if n := s.Host(1).AwaitingSlots(); n > len(names)-10 {
			t.Errorf("%d requests wait: none was applied before", n)
		}
		s.offers.pass(1)
		if err := <-kept; err != nil {
			t.Fatal(err)
		}
		for i, id := range created {
			a := speaker.await(id, protocol.KindSemaphoreCreate.Answer())
			if a.Result.Status != protocol.StatusSuccess {
				t.Errorf("create %d: %v", i, a.Result.Err())
			}
		}
		first := speaker.must(speaker.await(acquired[0], protocol.KindAcquire.Answer())).Acquire
		second := speaker.must(speaker.await(acquired[1], protocol.KindAcquire.Answer())).Acquire
		if first.Outcome != protocol.Acquired || second.OrderID != first.OrderID {
			t.Errorf("the lock was answered with %+v, and a copy with %+v", first, second)
		}
		speaker.must(speaker.await(read, protocol.KindSemaphoreDescribe.Answer()))
		if len(speaker.kept) > 0 {
			t.Errorf("%d answers more than requests", len(speaker.kept))
		}
		if x := s.Host(1).SlotIn(1, slot); x.State != slots.Owned || x.Generation != 2 {
			t.Errorf("the slot is %v under %d", x.State, x.Generation)
		}
		d := speaker.must(speaker.ask(&protocol.SemaphoreDescribe{NodeID: s.node, Name: names[0], IncludeOwners: true}))
		if n := d.SemaphoreDescribe.Owners.Len(); n != 1 {
			t.Errorf("the lock has %d owners", n)
		}
	})
}

// TestTooManyOrTooLongWaitingRequestsAreUnavailable: 1,000 requests wait for a slot, 10,000 at a host, 100 ms at most.
func TestTooManyOrTooLongWaitingRequestsAreUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealing(t)
		speaker := speak(t, s.Cluster, 1)
		s.offers.hold(1)
		refused := func(what string) {
			t.Helper()
			payload, err := speaker.read(patience)
			if err != nil {
				t.Fatal(err)
			}
			a := speaker.decode(payload)
			if a.Result.Status != protocol.StatusUnavailable || a.Result.WaitMillis == 0 {
				t.Fatalf("%s: %v, after %d ms", what, a.Result.Err(), a.Result.WaitMillis)
			}
		}
		const perSlot, perHost = 1000, 10_000
		var sealed [1 + perHost/perSlot][]byte // a name in each
		for i := range sealed {
			slot, names := s.names(1000*i, 1)
			sealed[i] = names[0]
			s.seal(slot)
		}
		began := time.Now()
		for i, name := range sealed[:perHost/perSlot] {
			for range perSlot {
				speaker.say(s.create(name))
			}
			want(t, "waiting requests", awaitingAt(s, 1), perSlot*(i+1))
			if i == 0 {
				speaker.say(s.create(name))
				refused("one more for a slot")
			}
		}
		speaker.say(s.create(sealed[len(sealed)-1]))
		refused("one more on the host")
		want(t, "the time until both are refused", time.Since(began), 0)
		for range perHost {
			refused("a request that waits")
		}
		want(t, "the time until all are refused", time.Since(began), 100*time.Millisecond)
		want(t, "requests that still wait", s.Host(1).AwaitingSlots(), 0)
	})
}

// awaitingAt returns the number of waiting requests once the host has read all that was sent.
func awaitingAt(s *sealing, id shard.HostID) int {
	synctest.Wait()
	return s.Host(id).AwaitingSlots()
}

// TestTheNextLeaderOffersASealedSlot: the leader that sealed a slot is killed, or another host leads, before the new
// shard has the slot. An owner keeps its lock.
func TestTheNextLeaderOffersASealedSlot(t *testing.T) {
	for what, change := range map[string]func(*sealing){
		"killed":      func(s *sealing) { s.Crash(1, false) },
		"transferred": func(s *sealing) { _ = s.Elect(1, 3) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSealing(t)
				ctx := t.Context()
				cl, err := client.Open(ctx, s.Addresses(), client.WithDialer(s.Dial))
				if err != nil {
					t.Fatal(err)
				}
				defer cl.Close()
				session, err := cl.Session(ctx, "/moves", client.SessionTimeout(10*time.Second))
				if err != nil {
					t.Fatal(err)
				}
				slot, names := s.names(0, 1)
				lease, err := session.Ephemeral(string(names[0])).Lock(ctx)
				if err != nil {
					t.Fatal(err)
				}
				s.offers.hold(1)
				s.seal(slot)
				change(s)
				awaitThat(t, "another host leads", func() bool { return s.Leader(1) > 1 })
				awaitThat(t, "the other shard has the slot", func() bool {
					x := s.Host(3).SlotIn(2, slot)
					return x.State == slots.Owned && x.Generation == 1
				})
				awaitThat(t, "the old shard knows", func() bool {
					return s.Host(3).SlotIn(1, slot).State == slots.Transferred
				})
				d, err := cl.Node("/moves").Describe(ctx, string(names[0]), client.WithOwners())
				if err != nil || len(d.Owners) != 1 || d.Owners[0].OrderID != lease.Fence() {
					t.Errorf("the lock is described as %+v: %v", d, err)
				}
				if err := lease.Release(ctx); err != nil {
					t.Error(err)
				}
				if err := session.Close(ctx); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
