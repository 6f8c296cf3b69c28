package raftlog

import (
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

func TestALeaderKnowsHowFarTheOthersAre(t *testing.T) {
	all, leader := openThree(t, nil)
	leader.mustPropose(0, 10)
	last := func() uint64 { return leader.host.Status()[0].LastIndex }
	follower := func(of *member) (uint64, bool) { return leader.log.(*Log).Follower(of.config.Host) }
	rest := others(all, leader)
	for _, m := range rest {
		eventually(t, "all of it is known to be there", func() bool {
			index, near := follower(m)
			return index == last() && near
		})
		if index, near := m.log.(*Log).Follower(leader.config.Host); index != 0 || near {
			t.Errorf("a host that does not lead knows %d, %v", index, near)
		}
	}
	away := rest[0]
	away.close()
	leader.mustPropose(10, 20)
	eventually(t, "who is away is far and behind", func() bool {
		index, near := follower(away)
		return index < last() && !near
	})
	eventually(t, "the other is near and has it all", func() bool {
		index, near := follower(rest[1])
		return index == last() && near
	})
}

func TestWhatAHostSaidInAnEarlierTermIsForgotten(t *testing.T) {
	f := newFollowers()
	say := func(term, index uint64, reject bool) {
		f.note(2, []raftpb.Message{{
			Type: raftpb.ReplicateResp, From: 2, ShardID: testShard, Term: term, LogIndex: index, Reject: reject,
		}})
	}
	want := func(what string, term, index uint64) {
		t.Helper()
		if got := f.of(testShard, term, shard.HostID(2)); got.index != index {
			t.Errorf("%s: %d, want %d", what, got.index, index)
		}
	}
	say(1, 10, false)
	want("what it has", 1, 10)
	say(1, 20, true)
	want("after a refusal", 1, 10)
	say(1, 8, false)
	want("after an answer that was overtaken", 1, 10)
	want("in the next term, before it said anything", 2, 0)
	say(2, 7, false)
	want("in the next term", 2, 7)
	say(1, 30, false)
	want("after an answer of the earlier one", 2, 7)
	f.note(2, []raftpb.Message{{Type: raftpb.Replicate, From: 2, ShardID: testShard, Term: 2, LogIndex: 99}})
	want("after a leader's message", 2, 7)
}
