package replica

import (
	"slices"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// meanwhileLog does something between a barrier and the answer about the barrier.
type meanwhileLog struct {
	shard.Log
	do func()
}

func (l *meanwhileLog) Barrier(done func(error)) error {
	return l.Log.Barrier(func(err error) {
		l.do()
		done(err)
	})
}

// found is a replica's answer about a session.
func found(r *Replica, id shard.SessionID) shard.Liveness {
	is := make(chan shard.Liveness, 1)
	r.Lookup.Find(id, nil, protocol.ConsistencyStrict, func(one HomeSession) { is <- one.Liveness })
	return <-is
}

// laterSession is a session still unknown to a replica of its home.
func laterSession(r *Replica) shard.SessionID {
	slot, _ := r.SomeSlot()
	return shard.NewSessionID(slot, 1<<20)
}

// TestABarrierSaysNothingOfACopyThatWasEmptiedSince: a session unknown to an emptied replica does not count as ended.
func TestABarrierSaysNothingOfACopyThatWasEmptiedSince(t *testing.T) {
	r := standalone(t, 1).All()[0]
	if is := found(r, laterSession(r)); is != shard.Dead {
		t.Fatalf("behind a barrier, a session that never was is %d", is)
	}
	id := startedSession(t, r)
	if is := found(r, id); is != shard.Alive {
		t.Fatalf("a session is %d", is)
	}
	later := laterSession(r)
	r.log = &meanwhileLog{r.log, func() {
		r.gone()
		r.left.Store(0)
		if err := r.empty(); err != nil {
			t.Error(err)
		}
	}}
	if is := found(r, later); is != shard.Unknown {
		t.Errorf("a copy that was emptied after the barrier says %d", is)
	}
	if is := r.Machine.Liveness(id); is != shard.Unknown {
		t.Errorf("an empty copy says %d", is)
	}
}

// startedSession starts a session at home in a replica.
func startedSession(t *testing.T, r *Replica) shard.SessionID {
	t.Helper()
	slot, _ := r.SomeSlot()
	started := make(chan shard.SessionID, 1)
	command := shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Timeout: 60_000, Slot: slot}
	r.propose(&command, nil, func(e *shard.Effect, _ protocol.Status) { started <- e.Session })
	return <-started
}

// TestASessionThatACopyHasNotSeenYetIsBound: a host binds a session based on another host's answer, and then gets an
// outdated replica of the session's home.
func TestASessionThatACopyHasNotSeenYetIsBound(t *testing.T) {
	r := standalone(t, 1).All()[0]
	if !r.set.Sessions.stillThere(laterSession(r)) {
		t.Error("a session that the copy is yet to see is over")
	}
	id := startedSession(t, r)
	ended := make(chan struct{})
	r.EndSession(nil, id, 0, func(*shard.Effect, protocol.Status) { close(ended) })
	<-ended
	if r.set.Sessions.stillThere(id) {
		t.Error("a session that is over is bound")
	}
}

// TestAnEndByTheWordOfAnotherHostCountsBesideACopy: the local replica of the home may be outdated.
func TestAnEndByTheWordOfAnotherHostCountsBesideACopy(t *testing.T) {
	s := standalone(t, 2)
	id := laterSession(s.All()[0])
	s.HomeShards.over(id, protocol.EndUnknown)
	if !slices.Contains(s.All()[1].leader.ended, id) {
		t.Error("the leader of another shard does not know")
	}
}

// TestAnEndThatCameWithASnapshotIsLookedForInTheOtherShards: possibly no host ever reports such an end.
func TestAnEndThatCameWithASnapshotIsLookedForInTheOtherShards(t *testing.T) {
	s := standalone(t, 2)
	until(t, "nothing is to be looked for", s, func() { s.All()[1].leader.run(s.Now()) },
		func() bool { return !s.All()[1].leader.again })
	saved, err := snapshotOf(s.All()[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.All()[0].Restore(saved); err != nil {
		t.Fatal(err)
	}
	if !s.All()[1].leader.again {
		t.Error("the leader of another shard does not look for remote sessions that are over")
	}
}

// TestWhoAsksAboutAnEndTakesNoNewsFromOthers: of two hosts that asked about a session, both must be notified.
func TestWhoAsksAboutAnEndTakesNoNewsFromOthers(t *testing.T) {
	s := standalone(t, 1)
	r := s.All()[0]
	id := startedSession(t, r)
	s.HomeShards.vouch(id, 2)
	s.HomeShards.vouch(id, 3)
	// As between the end in the machine and the report to the hosts.
	r.Machine.Apply(&shard.Batch{Stamp: clock.Stamp{Term: r.Machine.Term()},
		Commands: []shard.Command{{Kind: shard.CmdSessionEnd, Session: id}}}, &shard.Effects{})
	if is := s.HomeShards.vouch(id, 2); is != shard.Dead {
		t.Fatalf("a session that is over is %d", is)
	}
	if hosts := s.Sessions.remote.take(id); !slices.Equal(hosts, []shard.HostID{3}) {
		t.Errorf("the hosts that are to hear are %v", hosts)
	}
}

// TestAQuestionAboutASessionThatNeverWasLeavesNothing: clients may invent ids, and only a session's end removes the
// notes about it.
func TestAQuestionAboutASessionThatNeverWasLeavesNothing(t *testing.T) {
	s := standalone(t, 1)
	r := s.All()[0]
	until(t, "a session that never was is not called dead", s, func() {}, func() bool {
		return s.HomeShards.lookUp(t.Context(), 2, &askedSession{ID: laterSession(r)}).Liveness == shard.Dead
	})
	if noted := s.Sessions.remote.of(r); len(noted) != 0 {
		t.Errorf("%d sessions that never were are noted", len(noted))
	}
}

// TestAHostWhoseReplicaHasGoneKnowsNoSession: its state is kept for a short time, without applying further ends.
func TestAHostWhoseReplicaHasGoneKnowsNoSession(t *testing.T) {
	s := standalone(t, 1)
	r := s.All()[0]
	id := startedSession(t, r)
	if is := s.HomeShards.lookUp(t.Context(), 2, &askedSession{ID: id}).Liveness; is != shard.Alive {
		t.Fatalf("a session is %d", is)
	}
	if err := r.end.Close(); err != nil {
		t.Fatal(err)
	}
	r.gone()
	if is := s.HomeShards.lookUp(t.Context(), 2, &askedSession{ID: id}).Liveness; is != shard.Unknown {
		t.Errorf("after the replica has gone, a session is %d", is)
	}
	if is := s.HomeShards.vouch(id, 2); is != shard.Unknown {
		t.Errorf("after the replica has gone, a session that was asked about is %d", is)
	}
}

// TestAReplicaThatIsNotFilledDoesNotCallASessionAlive: it may lack the session's end. Nor is it used for this host's
// own questions.
func TestAReplicaThatIsNotFilledDoesNotCallASessionAlive(t *testing.T) {
	s := standalone(t, 1)
	r := s.All()[0]
	id := startedSession(t, r)
	until(t, "the replica is filled", s, func() { r.leader.run(s.Now()) }, r.Here)
	if is := s.HomeShards.vouch(id, 2); is != shard.Alive {
		t.Fatalf("a session is %d", is)
	}
	r.fresh.forget() // as at a start
	if is := s.HomeShards.vouch(id, 2); is != shard.Unknown || r.Here() {
		t.Errorf("before a barrier, a session is %d, and the replica counts: %v", is, r.Here())
	}
	until(t, "the replica is filled again", s, func() { r.leader.run(s.Now()) }, r.Here)
	r.log = noQuorum{r.log}
	r.Confirm(func(bool, bool) {})
	if is := s.HomeShards.vouch(id, 2); is != shard.Unknown || r.Here() {
		t.Errorf("after a barrier that failed, a session is %d, and the replica counts: %v", is, r.Here())
	}
	if s.Liveness(id); s.HomeShards.asks.len != 1 {
		t.Error("no other host is asked about the session")
	}
}

// noQuorum is a log without a reachable majority.
type noQuorum struct{ shard.Log }

func (noQuorum) Barrier(func(error)) error { return shard.ErrNoQuorum }
