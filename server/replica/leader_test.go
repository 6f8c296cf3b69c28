package replica

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/protocol/level/leveltest"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/watch"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/memlog"
)

// openSet opens the replicas of a single host on in-memory logs, and waits until it serves its shards.
func openSet(tb testing.TB, shards int) *Set {
	tb.Helper()
	return openSetAt(tb, shards, level.Newest)
}

// openSetAt is openSet for a host that supports at most the given level.
func openSetAt(tb testing.TB, shards int, at level.Level) *Set {
	tb.Helper()
	return openSetWith(tb, shards, at, func(*Config) {})
}

// patience is the time limit for anything that must eventually happen.
const patience = time.Minute

// openSetWith is openSetAt with config changes.
func openSetWith(tb testing.TB, shards int, at level.Level, change func(*Config)) *Set {
	tb.Helper()
	network, err := memlog.NewNetwork(memlog.Config{Seed: 1, Hosts: []shard.HostID{1}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = network.Close() })
	network.Start()
	config := Config{
		Self: meta.Host{ID: 1, Name: "host-1", ClientAddress: "host-1:1", RaftAddress: "host-1:2",
			Level: at},
		Cluster: "test", Hosts: []shard.HostID{1}, Shards: shards, Delay: time.Millisecond, DigestInterval: time.Hour,
		Clock: time.Now, Log: slog.New(slog.DiscardHandler), Metrics: metrics.New(),
		Watches:     watch.NewBudget(1 << 20),
		Maintenance: func(time.Time, bool) bool { return false },
		Logs: func(group uint64, sm shard.StateMachine) (shard.Log, error) {
			return network.Open(1, memlog.GroupID(group+1), sm)
		},
	}
	change(&config)
	s := New(config)
	if err := s.Open(); err != nil {
		tb.Fatal(err)
	}
	for late := time.Now().Add(patience); s.Readiness().Lacks != nil; time.Sleep(time.Millisecond) { // without an event
		if time.Now().After(late) {
			tb.Fatalf("not within %v: the host is ready: %v", patience, s.Readiness().Lacks)
		}
	}
	return s
}

// standalone opens replicas with a loop controlled by the test, once they serve.
func standalone(t *testing.T, shards int) *Set {
	t.Helper()
	return standaloneAt(t, shards, level.Newest)
}

// standaloneAt is standalone for a host that supports at most the given level.
func standaloneAt(t *testing.T, shards int, at level.Level) *Set {
	t.Helper()
	return standaloneWith(t, shards, at, func(*Config) {})
}

// standaloneWith is standaloneAt with config changes.
func standaloneWith(t *testing.T, shards int, at level.Level, change func(*Config)) *Set {
	t.Helper()
	s := openSetWith(t, shards, at, change)
	close(s.stop)
	s.loop.Wait()
	t.Cleanup(s.closeLogs)
	return s
}

// notBootstrapped is standalone for a host whose cluster has no host records: more hosts have registered than a cluster
// may have.
func notBootstrapped(t *testing.T) *Set {
	t.Helper()
	s := standaloneWith(t, 1, level.Newest, func(c *Config) { c.Hosts = append(c.Hosts, 2) })
	for id := shard.HostID(2); id <= hosts.MaxHosts+1; id++ {
		name := fmt.Sprint("host-", id)
		metaBatches(t, s, []meta.Command{{Kind: meta.CmdHostRegister, Host: meta.Host{ID: id, Name: name,
			ClientAddress: name + ":1", RaftAddress: name + ":2", Level: leveltest.Later}}})
	}
	return s
}

// TestALeadershipThatEndsWithinATurnIsNotBegunAgain: a turn looks at the leadership and then acts; in between the
// leadership may end.
func TestALeadershipThatEndsWithinATurnIsNotBegunAgain(t *testing.T) {
	h := standalone(t, 1)
	r := h.All()[0]
	found := r.leader.stage()
	if !found.serving || found.term == 0 {
		t.Fatalf("the host serves, and the stage is %+v", found)
	}
	r.leader.end()
	r.leader.step(h.Now(), found)
	if r.leader.ready() || r.Leases.Fresh(h.Now()) {
		t.Fatal("a host whose leadership has ended serves the shard")
	}
	if now := r.leader.stage(); now != (stage{}) {
		t.Fatalf("the stage is %+v", now)
	}
}

func TestALeadershipThatEndsBeforeItsBooksAreOpenNeverServes(t *testing.T) {
	h := standalone(t, 1)
	r := h.All()[0]
	term := r.leader.stage().term
	r.leader.end()
	// Like a turn that applied the next term's first command after that leadership had ended.
	done := make(chan struct{})
	r.leader.begin(term + 1)
	r.Pipeline.Lead(term+1, func(*shard.Effect, protocol.Status) { close(done) })
	<-done
	r.leader.end()
	r.leader.step(h.Now(), stage{term: term + 1, proposed: true, begun: true})
	if r.leader.ready() {
		t.Fatal("a host whose leadership has ended serves the shard")
	}
	if lost := r.Leases.Unlead(); lost != nil {
		t.Fatal("the books of a leadership that has ended are open")
	}
}

// TestALeaderBeginsOnlyWhenItsCopyOfTheMetaShardIsUpToDate: its knowledge of nodes and grace periods may be outdated
// before.
func TestALeaderBeginsOnlyWhenItsCopyOfTheMetaShardIsUpToDate(t *testing.T) {
	h := standalone(t, 1)
	d := &h.All()[0].leader
	term := d.stage().term + 1
	d.end()
	h.Meta.incarnation.Add(1)
	d.begin(term)
	d.run(h.Now())
	if now := d.stage(); now.term != term || now.proposed {
		t.Fatalf("before it is up to date the stage is %+v", now)
	}
	h.Meta.caughtUp.Store(h.Meta.incarnation.Load())
	d.run(h.Now())
	if now := d.stage(); !now.proposed {
		t.Fatalf("when it is up to date the stage is %+v", now)
	}
}

// TestASessionThatAnotherHostProposedHasALeaseHere: an earlier leader's command may be applied when this host already
// leads.
func TestASessionThatAnotherHostProposedHasALeaseHere(t *testing.T) {
	h := standalone(t, 1)
	r := h.All()[0]
	command := shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Timeout: 10_000, Slot: someSlot(r)}
	batch := shard.AppendGathered(nil, h.proposer+1, 1, clock.Stamp{Term: r.Machine.Term()}, 1,
		shard.AppendCommand(nil, &command))
	done := make(chan shard.Outcome, 1)
	if err := r.log.Propose(batch, func(o shard.Outcome) { done <- o }); err != nil {
		t.Fatal(err)
	}
	if o := <-done; o != shard.OutcomeApplied {
		t.Fatal(o)
	}
	if n := r.Machine.Sessions(); n != 1 {
		t.Fatalf("%d sessions", n)
	}
	if counts := r.Leases.Counts(); counts.Detached != 1 {
		t.Fatalf("it would never end: %+v", counts)
	}
}

func TestWhatIsQueuedIsAnsweredWhenTheLeadershipEnds(t *testing.T) {
	h := standalone(t, 1)
	r := h.All()[0]
	command := shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Timeout: 10_000, Slot: someSlot(r)}
	type outcome struct {
		effect *shard.Effect
		failed protocol.Status
	}
	queue := func() chan outcome {
		told := make(chan outcome, 2)
		ok := r.Pipeline.Add(pipeline.Op{Done: func(e *shard.Effect,
			failed protocol.Status) {
			told <- outcome{e, failed}
		}}, &command)
		if !ok {
			t.Fatal("the queue is full")
		}
		return told
	}
	term := r.leader.stage().term
	first := queue() // and not proposed
	r.leader.end()
	select {
	case got := <-first:
		if got.effect != nil || got.failed == protocol.StatusSuccess {
			t.Fatalf("it was answered with %+v", got)
		}
	default:
		t.Fatal("it was not answered")
	}
	if commands, batches := r.Pipeline.Waiting(); commands != 0 || batches != 0 {
		t.Fatalf("%d commands and %d batches wait", commands, batches)
	}
	// Later terms are unaffected.
	r.leader.begin(term + 1)
	r.leader.run(h.Now())
	second := queue()
	r.Pipeline.Flush()
	if got := <-second; got.effect == nil || got.effect.Status != protocol.StatusSuccess {
		t.Fatalf("the next one was answered with %+v", got)
	}
	if n := r.Machine.Sessions(); n != 1 || len(first) != 0 {
		t.Fatalf("%d sessions; the first was answered %d times more", n, len(first))
	}
}

// TestTheLoopAsksAboutAllRemoteSessionsInSteps: a host must not look stalled while it asks about a million remote
// sessions.
func TestTheLoopAsksAboutAllRemoteSessionsInSteps(t *testing.T) {
	h := standalone(t, 2)
	here, home := h.All()[0], h.All()[1]
	var effects shard.Effects
	const counters, slots = 16, 1024 // sessions, all ended at their home
	for range counters {
		home.Machine.Apply(&shard.Batch{Stamp: clock.Stamp{Term: home.Machine.Term()}, Commands: []shard.Command{
			{Kind: shard.CmdSessionCreate, Slot: shard.Slots - 1, Node: 1, Timeout: 60_000, Key: []byte("key")},
		}}, &effects)
	}
	for n := range uint64(counters * slots) {
		id := shard.NewSessionID(shard.Slot(shard.Slots/2+n%slots), n/slots+1)
		here.Machine.Apply(&shard.Batch{Stamp: clock.Stamp{Term: here.Machine.Term()}, Commands: []shard.Command{{
			Kind: shard.CmdAcquire, Session: id, Number: 1, Node: 1, Name: nameIn(here,
				1), Count: 1, Timeout: shard.Forever,
			Flags: shard.FlagEphemeral,
		}}}, &effects)
	}
	if n := here.Machine.Count().RemoteSessions; n != counters*slots {
		t.Fatalf("%d remote sessions; want %d", n, counters*slots)
	}
	d, turns := &here.leader, 0
	for d.recheck(); turns == 0 || d.sweep.running; turns++ {
		before := d.sweep.at
		select {
		case <-h.wakes:
		case <-time.After(patience):
			t.Fatal("the loop is not asked to go on")
		}
		d.reconcile(h.Now())
		// places are counted from 1
		if step := d.sweep.at - before; d.sweep.running && step > sweepPages*shard.MaxPage+1 {
			t.Fatalf("a turn asks about %d sessions", step)
		}
	}
	if turns < 2 {
		t.Fatalf("all remote sessions were asked about in %d turn", turns)
	}
	for late := time.Now().Add(patience); here.Machine.Count().RemoteSessions > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d dead remote sessions are left", here.Machine.Count().RemoteSessions)
		}
	}
}

// nameIn returns the name of the nth semaphore of node 1 in the shard.
func nameIn(r *Replica, nth int) []byte {
	for i := 0; ; i++ {
		if name := fmt.Appendf(nil, "lock/%d", i); r.slots.Has(shard.SlotOf(1, name)) {
			if nth--; nth <= 0 {
				return name
			}
		}
	}
}

// doubtfulLog never reports the outcome of a batch.
type doubtfulLog struct {
	shard.Log
	ended chan struct{} // one item per delivered outcome
}

func (l *doubtfulLog) Propose(_ []byte, done func(shard.Outcome)) error {
	go func() {
		done(shard.OutcomeUnknown)
		l.ended <- struct{}{}
	}()
	return nil
}

// TestASessionWhoseEndIsNotKnownIsNotAttachedAgain: its end may still be applied, and a client attached meanwhile would
// lose the session without notice.
func TestASessionWhoseEndIsNotKnownIsNotAttachedAgain(t *testing.T) {
	h := standalone(t, 1)
	r := h.All()[0]
	id := linked(t, r, 0)
	at := h.Now()
	r.Leases.Restore(id, 1, 10*time.Second, at)
	var due []lease.Expiry
	var by lease.Basis
	for len(due) == 0 {
		at = at.Add(stallAfter / 2)
		due, by = r.Leases.Due(at, expireBatch, nil)
	}
	log := &doubtfulLog{Log: r.log, ended: make(chan struct{}, 1)}
	r.Pipeline.Open(log)
	if !r.leader.proposeEnd(by, []shard.SessionID{id}) {
		t.Fatal("the queue is full")
	}
	<-log.ended
	if n := r.Leases.Counts().Expiring; n != 1 {
		t.Errorf("%d sessions are expiring, want the one whose end is not known", n)
	}
	if _, verdict := r.Leases.Attach(id, lease.NewHolder(at), 1, at); verdict != lease.Expiring {
		t.Errorf("an attach is answered with %v, want %v", verdict, lease.Expiring)
	}
}

// someSlot returns a slot of a shard that has slots.
func someSlot(r *Replica) shard.Slot {
	slot, ok := r.SomeSlot()
	if !ok {
		panic("the shard has no slot")
	}
	return slot
}

// TestAShardWithoutSlotsHasNoSession: it is skipped instead of searched forever.
func TestAShardWithoutSlotsHasNoSession(t *testing.T) {
	with := func(owned shard.SlotSet) *Replica {
		return &Replica{Machine: machine.New(kinds.All(), machine.Options{Shard: 1, Slots: owned})}
	}
	var owned shard.SlotSet
	owned.Add(0, 0)
	r := with(owned)
	r.Machine.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSlotSupersede, Count: 1, Number: 2}}},
		&shard.Effects{})
	if slot, ok := r.SomeSlot(); ok {
		t.Errorf("a shard without slots has slot %d", slot)
	}
	for _, only := range []shard.Slot{0, 63, 64, shard.Slots - 1} {
		owned = shard.SlotSet{}
		owned.Add(only, only)
		if slot := someSlot(with(owned)); slot != only {
			t.Errorf("a shard with slot %d says %d", only, slot)
		}
	}
	owned.Add(100, 300)
	for place := range owned.Len() {
		if slot := owned.At(place); place < 201 && slot != shard.Slot(100+place) {
			t.Errorf("at %d is slot %d", place, slot)
		}
	}
	if slot := someSlot(with(owned)); !owned.Has(slot) {
		t.Errorf("a shard says slot %d, which it does not have", slot)
	}
}

// TestWhoAwaitsANewLeaderIsServedWithIt: an attach that arrives while the sessions are read is not refused; it
// continues when they are known, or is redirected when the leadership ends first.
func TestWhoAwaitsANewLeaderIsServedWithIt(t *testing.T) {
	r := standalone(t, 1).All()[0]
	var said []bool
	ask := func() bool { return r.OnceServing(func(serving bool) { said = append(said, serving) }) }
	if !ask() || !slices.Equal(said, []bool{true}) {
		t.Fatalf("a leader that serves has answered %v", said)
	}
	said = nil
	r.leader.mu.Lock()
	term := r.leader.term
	r.leader.serving.Store(false)
	r.leader.mu.Unlock()
	r.endLeases(protocol.Result{Status: protocol.StatusUnavailable}) // like the election of a later term
	if !ask() || len(said) != 0 {
		t.Fatalf("a leader that reads its sessions has answered %v", said)
	}
	for len(r.leader.awaiting) < maxAwaiting {
		r.leader.awaiting = append(r.leader.awaiting, func(bool) {})
	}
	if ask() {
		t.Fatal("one more than may wait waits")
	}
	r.leader.mu.Lock()
	r.leader.term = term + 1
	r.leader.mu.Unlock()
	r.leader.restoreLeases(term + 1)
	if !slices.Equal(said, []bool{true}) || len(r.leader.awaiting) != 0 {
		t.Fatalf("a leader that has read its sessions has answered %v, and %d wait", said, len(r.leader.awaiting))
	}
	said = nil
	r.leader.serving.Store(false)
	if !ask() {
		t.Fatal("none may wait")
	}
	r.leader.end()
	if !slices.Equal(said, []bool{false}) || ask() {
		t.Fatalf("a leadership that has ended has answered %v", said)
	}
}
