package replica

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// atRest puts a host with a test-controlled loop into its resting state, as after a long time without work.
func atRest(t *testing.T, s *Set) {
	t.Helper()
	s.stirred.Store(false)
	select {
	case <-s.wakes:
	default:
	}
	if got := s.rest(calmAfter); got != calmTick {
		t.Fatalf("the loop of a host that rests waits for %v", got)
	}
}

func mustBeWoken(t *testing.T, s *Set, what string) {
	t.Helper()
	select {
	case <-s.wakes:
	case <-time.After(patience):
		t.Fatalf("%s does not wake the loop", what)
	}
}

// TestALoopThatRestsIsWokenByWhatIsAdded: by whatever reaches the replica from outside.
func TestALoopThatRestsIsWokenByWhatIsAdded(t *testing.T) {
	s := standalone(t, 1)
	r := s.All()[0]
	for _, c := range []struct {
		what string
		add  func()
	}{
		{"a batch", func() { r.propose(&shard.Command{Kind: shard.CmdContinue}, nil, nil) }},
		{"the first read for long", func() {
			r.fresh.mu.Lock()
			r.fresh.used = time.Time{}
			r.fresh.mu.Unlock()
			r.MayAnswer(protocol.ConsistencyRelaxed)
		}},
		{"a session that may be dead", func() { r.leader.suspect(1) }},
		{"a waiter that goes", func() { r.leader.withdraw(shard.WaiterRef{}) }},
		{"another check", r.leader.recheck},
		{"other quotas of a node", func() { r.leader.checkQuota(1) }},
		{"work for the meta shard", s.requestUpkeep},
		{"what a connection stirs", s.Stir},
		{"a leadership", func() { r.leader.begin(r.leader.stage().term) }}, // last, because queued commands wait for it
	} {
		atRest(t, s)
		c.add()
		mustBeWoken(t, s, c.what)
	}
}

// TestALoopRestsOnlyWhereNothingWaits: pending work keeps the loop from resting, even if added during the decision.
func TestALoopRestsOnlyWhereNothingWaits(t *testing.T) {
	s := standalone(t, 1)
	r := s.All()[0]
	r.fresh.used = time.Time{}
	calm := func() bool {
		until(t, "nothing is under way", s, func() {}, func() bool {
			commands, batches := r.Pipeline.Waiting()
			return commands+batches == 0
		})
		s.upkeepDue.Store(false)
		return s.calm()
	}
	until(t, "the host is calm", s, func() { r.leader.run(s.Now()) }, calm)
	apply := func(c shard.Command) (e shard.Effect) {
		done := make(chan struct{})
		r.propose(&c, nil, func(of *shard.Effect, _ protocol.Status) { e = *of; close(done) })
		<-done
		return e
	}
	var session shard.SessionID
	for what, change := range map[string]struct{ add, remove func() }{
		"upkeep":        {func() {}, func() {}},
		"another check": {func() { r.leader.recheckLater() }, func() { r.leader.again = false }},
		"waiters that go": {func() { r.leader.withdrawn = make([]shard.WaiterRef, 1) },
			func() { r.leader.withdrawn = nil }},
		"a read":  {func() { r.MayAnswer(protocol.ConsistencyRelaxed) }, func() { r.fresh.used = time.Time{} }},
		"a sweep": {func() { r.leader.sweep.running = true }, func() { r.leader.sweep.running = false }},
		"a session": {func() {
			session = apply(shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Timeout: 10_000}).Session
		}, func() { apply(shard.Command{Kind: shard.CmdSessionEnd, Session: session}) }},
		"a watch":       {func() { r.OneShots.watching.Add(1) }, func() { r.OneShots.watching.Add(-1) }},
		"no leases yet": {func() { r.leader.serving.Store(false) }, func() { r.leader.serving.Store(true) }},
	} {
		change.add()
		s.upkeepDue.Store(what == "upkeep")
		if s.calm() {
			t.Errorf("a host rests with %s", what)
		}
		change.remove()
		if !calm() {
			t.Errorf("a host does not rest after %s", what)
		}
	}
	if got := s.rest(calmAfter - 1); got != Tick {
		t.Errorf("a loop that was busy a moment ago waits for %v", got)
	}
	s.stirred.Store(true)
	if got := s.rest(calmAfter); got != Tick {
		t.Errorf("a loop waits for %v where something came while it decided", got)
	}
}

// TestARestIsNoStall: sessions get more time after a stall. So a loop that wakes from a rest must not look stalled,
// even if the loop wakes late by a Tick.
func TestARestIsNoStall(t *testing.T) {
	s := standalone(t, 1)
	for idle, longest := range map[time.Duration]time.Duration{0: Tick, calmAfter: calmTick} {
		var wait time.Duration
		// A batch applied meanwhile wakes the loop once more, so the test retries.
		until(t, "the loop waits as long as it may", s, func() { s.stirred.Store(false) }, func() bool {
			wait = s.rest(idle)
			return wait == longest
		})
		stalls, now := lease.NewStallDetector(stallAfter), s.Now()
		stalls.Tick(now)
		if stalls.Tick(now.Add(wait + Tick)) {
			t.Errorf("a loop that was idle for %v waits for %v, and looks stalled", idle, wait)
		}
	}
}

// TestWhatAReplicaHadStaysForAWhile: a read that has just verified its replica finds the full state, although the
// replica is removed meanwhile, and no other replica arrives yet. Later its memory is released.
func TestWhatAReplicaHadStaysForAWhile(t *testing.T) {
	s := standalone(t, 1)
	r := s.All()[0]
	term := r.Machine.Term()
	if err := r.end.Close(); err != nil || term == 0 {
		t.Fatal(err, term)
	}
	r.gone()
	if r.emptyLeft(s.Now()); r.Machine.Term() != term {
		t.Error("the copy is empty at once")
	}
	if err := r.empty(); !errors.Is(err, errLeft) || r.Machine.Term() != term {
		t.Errorf("the copy is emptied for the next replica: %v", err)
	}
	if r.emptyLeft(s.Now().Add(leftFor)); r.Machine.Term() != 0 {
		t.Error("the copy is kept")
	}
}

// renewing is a host's Replicas that only rebuild a shard.
type renewing struct{ Replicas }

func (renewing) Recorded() []uint64 { return nil }

func (renewing) Renew(
	_ context.Context, _, _, _ uint64, _ shard.StateMachine, renew func() (shard.Saver, error),
) error {
	_, err := renew()
	return err
}

// TestARenewalDoesNotWaitForReads: the old group's state remains until the new group's snapshot replaces it, and is not
// emptied later, under the new group.
func TestARenewalDoesNotWaitForReads(t *testing.T) {
	s := standaloneWith(t, 1, level.Newest, func(c *Config) { c.Gained = renewing{} })
	r := s.All()[0]
	term := r.Machine.Term()
	effect := protocol.StepExecute{ShardID: r.ID, ReplicaID: 7, Rebuild: protocol.Rebuild{Group: 1}}
	if err := s.Renew(t.Context(), &effect); err != nil || !r.Holds() {
		t.Fatalf("the shard is not made anew at once: %v", err)
	}
	if r.emptyLeft(s.Now().Add(leftFor)); term == 0 || r.Machine.Term() < term {
		t.Error("the state is emptied under the new group")
	}
}
