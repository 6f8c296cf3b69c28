package hosts

import (
	"bytes"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// lostTwo returns records of three hosts and the recovery of shard 1 from host a after the loss of the two others.
func lostTwo(t *testing.T) (*fixture, Recovery) {
	t.Helper()
	f := newFixture(t, "a", "b", "c", "d", "e")
	f.done(f.spread(3))
	f.done(f.known(1, 1, []uint64{1, 2, 3}, nil))
	return f, Recovery{Shard: 1, Host: 1, Lost: []shard.HostID{2, 3}}
}

func (f *fixture) recover(n Recovery) func() Answer {
	return func() Answer { return f.Recover(f.at(), n, 10_000) }
}

// TestAShardBeginsAnewWithOneReplica: the replica has a new id, and the lost hosts are expelled.
func TestAShardBeginsAnewWithOneReplica(t *testing.T) {
	f, n := lostTwo(t)
	next := f.NextReplica()
	f.done(f.recover(n)())
	s := f.Shard(1)
	if s.Group != 1 || s.Empty || s.Change != 0 || s.Voters() != 1 {
		t.Errorf("the shard: %+v", s)
	}
	if p := s.InitialReplica(); p == nil || p.ID != next || p.Host != 1 || p.Joined || s.On(1) != p {
		t.Errorf("the replica that the group begins with: %+v", p)
	}
	if p := s.Replica(1); p == nil || p.Role != RoleRemoved {
		t.Errorf("the survivor's replica of the group before: %+v", p)
	}
	for id, living := range map[shard.HostID]bool{1: true, 2: false, 3: false, 4: true, 5: true} {
		if h := f.Host(id); h.Living() != living {
			t.Errorf("host %s belongs to the cluster: %t", h.Name, h.Living())
		}
	}
	f.done(f.known(1, 4, []uint64{next}, nil))
	if f.Shard(1).InitialReplica() != nil {
		t.Error("the group that has reported its membership still is to begin")
	}
	f.refused(protocol.StatusPreconditionFailed, "shard 1 has a majority: 1 of 1 voters are left", f.recover(n))
}

// TestARecoveryThatTheRecordsForbidIsRefused by everyone alike, whatever the governor has seen.
func TestARecoveryThatTheRecordsForbidIsRefused(t *testing.T) {
	f, n := lostTwo(t)
	for words, change := range map[string]func(n *Recovery){
		"the meta shard is recovered with the whole cluster": func(n *Recovery) { n.Shard = Meta },
		"shard 1 has a majority: 2 of 3 voters":              func(n *Recovery) { n.Lost = n.Lost[:1] },
		"host e has no replica of shard 1":                   func(n *Recovery) { n.Host = 5 },
		"host 2 cannot take the shard":                       func(n *Recovery) { n.Host = 2 },
		"host 77 cannot take the shard":                      func(n *Recovery) { n.Host = 77 },
		"a remaining host has a replica":                     func(n *Recovery) { n.Host, n.Empty = 5, true },
		"of the governor":                                    func(n *Recovery) { n.Against = "word of the governor" },
	} {
		against := n
		change(&against)
		f.refused(protocol.StatusPreconditionFailed, words, f.recover(against))
	}
	unknown := n
	unknown.Shard = 9
	f.refused(protocol.StatusNotFound, "no shard 9", f.recover(unknown))
	unknown = n
	unknown.Lost = []shard.HostID{2, 77}
	f.refused(protocol.StatusNotFound, "not on record", f.recover(unknown))
	n.Lost = []shard.HostID{1, 2, 3}
	n.Host, n.Empty = 4, true
	f.done(f.recover(n)())
	if s := f.Shard(1); !s.Empty || s.InitialReplica().Host != 4 {
		t.Errorf("a shard without a survivor: %+v", s)
	}
}

// TestAShardIsRecoveredAgain: in a group with the next number.
func TestAShardIsRecoveredAgain(t *testing.T) {
	f, n := lostTwo(t)
	f.done(f.recover(n)())
	f.done(f.known(1, 4, []uint64{f.Shard(1).InitialReplica().ID}, nil))
	f.done(f.recover(Recovery{Shard: 1, Host: 4, Empty: true, Lost: []shard.HostID{1}})())
	if s := f.Shard(1); s.Group != 2 || s.InitialReplica() == nil || s.InitialReplica().Host != 4 {
		t.Errorf("the second group: %+v", s)
	}
}

// TestCountersOfShardsAreNoted: and never go back.
func TestCountersOfShardsAreNoted(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	count := func(order, revision, session uint64) Answer {
		return f.Count(f.at(), 7, []Count{{Shard: 1, Counters: shard.Counters{
			LastOrder: shard.OrderID(order), LastRevision: shard.Revision(revision), LastSession: session,
		}}})
	}
	f.done(count(5, 6, 7))
	f.now += 60_000
	f.done(count(4, 9, 7))
	want := shard.Counters{LastOrder: 5, LastRevision: 9, LastSession: 7}
	if s := f.Shard(1); s.Counted != want || s.CountedAt <= f.now-60_000 {
		t.Errorf("counters: %+v", s)
	}
	f.refused(protocol.StatusStale, "term 6 is over", func() Answer { return f.Count(f.at(), 6, []Count{{Shard: 1}}) })
	f.refused(protocol.StatusNotFound, "no data shard 3", func() Answer {
		return f.Count(f.at(), 7, []Count{{Shard: 3}})
	})
	saved := f.Save(nil)
	loaded, err := Load(saved)
	if err != nil || !bytes.Equal(loaded.Save(nil), saved) {
		t.Fatal(err)
	}
	f.done(f.spread(3))
	again, err := Load(f.Save(nil))
	if err != nil || again.Policy() != f.Policy() || again.Shard(1).Counted != f.Shard(1).Counted {
		t.Errorf("with shards on a part of the hosts: %v", err)
	}
}

// TestHostsThatAShardWasLostWithAreRefusedFromTheOrderOn: their expulsion becomes final later. A host expelled without
// a loss is accepted until then.
func TestHostsThatAShardWasLostWithAreRefusedFromTheOrderOn(t *testing.T) {
	f, n := lostTwo(t)
	f.done(f.Expel(f.at(), "e", true, 10_000))
	f.done(f.recover(n)())
	for id, want := range map[shard.HostID]bool{1: false, 2: true, 3: true, 4: false, 5: false} {
		if h := f.Host(id); h.Refused() != want || h.Current.Variant == protocol.HostExpelled {
			t.Errorf("host %s is refused: %t; its state is %v", h.Name, h.Refused(), h.Current.Variant)
		}
	}
	again, err := Load(f.Save(nil))
	if err != nil || !again.Host(2).Refused() || again.Host(4).Refused() {
		t.Errorf("once loaded: %v", err)
	}
}

// TestAShardWaitsUntilItsLeaderSaysThatItGrants, and an operator may end the wait.
func TestAShardWaitsUntilItsLeaderSaysThatItGrants(t *testing.T) {
	f, n := lostTwo(t)
	overlap := func() Answer { return f.AcceptOverlap(f.at(), 1) }
	grants := func(group uint64) func() Answer { return func() Answer { return f.Grants(1, group) } }
	f.refused(protocol.StatusPreconditionFailed, "shard 1 does not wait", overlap)
	f.refused(protocol.StatusNotFound, "no data shard 0", func() Answer { return f.AcceptOverlap(f.at(), Meta) })
	f.refused(protocol.StatusStale, "not in group 1", grants(1))
	at := f.at()
	at.Version = 77
	f.done(f.Recover(at, n, 10_000))
	s := f.Shard(1)
	if !s.Waits || s.Overlap || s.Ordered != 77 || s.First != s.InitialReplica().ID ||
		uint64(s.Fence)%(shard.MaxShard+1) != 1 {
		t.Errorf("after the order: %+v", s)
	}
	f.done(overlap())
	if a := overlap(); !a.Existed || !f.Shard(1).Overlap {
		t.Errorf("a second time: %+v", a)
	}
	f.refused(protocol.StatusStale, "not in group 2", grants(2))
	f.done(grants(1)())
	if a := grants(1)(); !a.Existed || f.Shard(1).Waits || f.Shard(1).Overlap {
		t.Errorf("once it grants: %+v, %+v", a, f.Shard(1))
	}
	f.refused(protocol.StatusPreconditionFailed, "shard 1 does not wait", overlap)
}

// bound sets a bound of shard 1 by host a.
func (f *fixture) bound(term, number, timeout uint64) func() Answer {
	return func() Answer {
		return f.SetBound(f.at(), 1, 1, TimeoutBound{term, number, shard.Longest{Timeout: timeout, Session: 9}})
	}
}

// TestTheLongestTimeoutIsThatOfAllShards: the maximum of their bounds, and no shorter than timeouts without a bound. A
// timeout counts until it has passed after the bound was lowered.
func TestTheLongestTimeoutIsThatOfAllShards(t *testing.T) {
	f := &fixture{T: t, Records: New("c", []ShardID{1, 2}), now: 1000}
	f.put(&Host{ID: 1, Name: "a"})
	number := uint64(0)
	for _, x := range []struct {
		shard                          ShardID
		timeout, before, after, expect uint64
	}{
		{1, 5_000, shard.UnnotedTimeout, 0, shard.UnnotedTimeout},
		{2, 60_000, 60_000, 0, 60_000},
		{1, 90_000, 90_000, 0, 90_000},
		{1, 10, 90_000, 90_000, 90_000}, // until the next millisecond
		{1, 20, 90_000, 1, 60_000},
		{2, 70_000, 70_000, 1000, 70_000},
		{2, 50_000, 70_000, 10_000, 70_000},
		{2, 40_000, 70_000, 60_000, 70_000},
		{2, 40_000, 70_000, 1, 40_000},
	} {
		number++
		f.done(f.SetBound(f.at(), x.shard, 1, TimeoutBound{7, number, shard.Longest{Timeout: x.timeout, Session: 9}}))
		if got := f.Longest(f.now); got.Timeout != x.before {
			t.Errorf("after %d ms of shard %d: %+v, want %d", x.timeout, x.shard, got, x.before)
		}
		f.now += x.after
		if got := f.Longest(f.now); got.Timeout != x.expect {
			t.Errorf("%d ms later: %+v, want %d", x.after, got, x.expect)
		}
	}
}

// TestABoundThatComesLateChangesNothing: neither a bound that the leader has raised since, nor a previous leader's
// bound.
func TestABoundThatComesLateChangesNothing(t *testing.T) {
	f := newFixture(t, "a", "b", "c")
	late := func(term, number, timeout uint64) {
		t.Helper()
		before := f.Shard(1).Bound
		if a := f.bound(term, number, timeout)(); a.Status != protocol.StatusSuccess || !a.Existed {
			t.Errorf("bound %d of term %d: %+v", number, term, a)
		}
		if is := f.Shard(1).Bound; is != before {
			t.Errorf("bound %d of term %d took the place of %+v", number, term, before)
		}
	}
	f.done(f.bound(7, 1, 60_000)())
	f.done(f.bound(7, 3, 90_000)())
	late(7, 2, 0) // lowered before it was raised
	late(7, 3, 90_000)
	f.done(f.bound(8, 1, 120_000)())
	late(7, 4, 0)
	if again, err := Load(f.Save(nil)); err != nil || again.Shard(1).Bound != f.Shard(1).Bound {
		t.Errorf("loaded: %v", err)
	}
	f.done(f.bound(8, 2, 0)())
	f.refused(protocol.StatusNotFound, "no data shard 9", func() Answer {
		return f.SetBound(f.at(), 9, 1, TimeoutBound{})
	})
}

// TestWhoIsGivenUpSetsNoBound: from the request on, because its result covers all granted timeouts.
func TestWhoIsGivenUpSetsNoBound(t *testing.T) {
	f, n := lostTwo(t)
	f.done(f.bound(7, 1, 60_000)())
	f.done(f.recover(n)())
	f.refused(protocol.StatusStale, "term 7 does not belong to group 1", f.bound(7, 2, 0))
	const next = 1<<shard.GroupTermBits + 1
	f.refused(protocol.StatusStale, "host 2 does not belong", func() Answer {
		return f.SetBound(f.at(), 1, 2, TimeoutBound{Term: next, Number: 1})
	})
	f.done(f.bound(next, 1, 0)())
}
