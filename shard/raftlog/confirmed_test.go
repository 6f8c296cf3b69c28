package raftlog

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// TestOnlyWhatIsOnTheDiskAndCommittedCounts: among another host's messages.
func TestOnlyWhatIsOnTheDiskAndCommittedCounts(t *testing.T) {
	c := newConfirmations([]Confirmed{{2, transport.Position{Shard: 7, Replica: 2, Term: 3, Last: 10}}})
	for _, say := range []struct {
		what    string
		message raftpb.Message
		want    transport.Position
	}{
		{"a later answer", raftpb.Message{Type: raftpb.ReplicateResp, From: 2, Term: 4, LogIndex: 20},
			transport.Position{Shard: 7, Replica: 2, Term: 4, Last: 20}},
		{"an earlier one", raftpb.Message{Type: raftpb.ReplicateResp, From: 2, Term: 3, LogIndex: 15},
			transport.Position{Shard: 7, Replica: 2, Term: 4, Last: 20}},
		{"a refusal", raftpb.Message{Type: raftpb.ReplicateResp, From: 2, Term: 9, LogIndex: 90, Reject: true},
			transport.Position{Shard: 7, Replica: 2, Term: 4, Last: 20}},
		{"what is not committed", raftpb.Message{Type: raftpb.ReplicateResp, From: 2, Term: 5, LogIndex: 60},
			transport.Position{Shard: 7, Replica: 2, Term: 5, Last: 50}},
		{"what a leader may not have on its disk", raftpb.Message{Type: raftpb.Replicate, From: 2, Term: 6, Commit: 70},
			transport.Position{Shard: 7, Replica: 2, Term: 5, Last: 50}},
		{"a heartbeat", raftpb.Message{Type: raftpb.Heartbeat, From: 2, Term: 6, Commit: 70},
			transport.Position{Shard: 7, Replica: 2, Term: 6, Last: 70}},
		{"a question before an election", raftpb.Message{Type: raftpb.RequestPreVote, From: 2, Term: 8, LogIndex: 99},
			transport.Position{Shard: 7, Replica: 2, Term: 6, Last: 70}},
		{"an answer before an election", raftpb.Message{Type: raftpb.RequestPreVoteResp, From: 2, Term: 8},
			transport.Position{Shard: 7, Replica: 2, Term: 6, Last: 70}},
		{"a vote", raftpb.Message{Type: raftpb.RequestVoteResp, From: 2, Term: 7},
			transport.Position{Shard: 7, Replica: 2, Term: 7, Last: 70}},
		{"a vote that is asked for", raftpb.Message{Type: raftpb.RequestVote, From: 2, Term: 8, LogIndex: 99},
			transport.Position{Shard: 7, Replica: 2, Term: 8, Last: 70}},
		{"the next replica of the host", raftpb.Message{Type: raftpb.ReplicateResp, From: 1030, Term: 6, LogIndex: 1},
			transport.Position{Shard: 7, Replica: 1030, Term: 6, Last: 1}},
		{"the one before", raftpb.Message{Type: raftpb.Heartbeat, From: 2, Term: 9, Commit: 90},
			transport.Position{Shard: 7, Replica: 1030, Term: 6, Last: 1}},
	} {
		say.message.ShardID = 7
		c.note(2, []raftpb.Message{say.message}, func(uint64) uint64 { return 50 })
		if got := c.of(2); !slices.Equal(got, []transport.Position{say.want}) {
			t.Errorf("after %s: %v, want %v", say.what, got, say.want)
		}
	}
}

// TestWhatAHostHasConfirmedOutlivesIt: each host's knowledge of the others survives if recorded, and matches their
// reports, even after restarts, elections, and discarded replicas.
func TestWhatAHostHasConfirmedOutlivesIt(t *testing.T) {
	all, leader := openThree(t, nil)
	leader.mustPropose(0, 10)
	var rest []*member
	knows := func(m *member, of shard.HostID) (index uint64) {
		for _, c := range m.host.Confirmed() {
			if c.Host == of {
				index = c.Last
			}
		}
		return index
	}
	eventually(t, "the leader knows of the others, and they of the leader", func() bool {
		leader = leaderOf(t, all) // the leader may have changed
		rest = others(all, leader)
		last := leader.host.Status()[0].LastIndex
		return !slices.ContainsFunc(rest, func(m *member) bool {
			return knows(leader, m.config.Host) < last || knows(m, leader.config.Host) < last
		})
	})
	kept := leader.host.Confirmed()
	for _, m := range rest {
		if err := leader.host.Behind(m.config.Host)(m.host.Positions()); err != nil {
			t.Errorf("host %d: %v", m.config.Host, err)
		}
	}
	set := rest[0].host.Positions()
	set[0].Last = 3
	again := &Host{confirmations: newConfirmations(kept)}
	err := again.Behind(rest[0].config.Host)(set)
	if err == nil || !strings.Contains(err.Error(), "it has the log up to 3 in term ") {
		t.Errorf("with the log up to 3: %v", err)
	}
	if err := again.Behind(rest[0].config.Host)(nil); err == nil {
		t.Error("a host that has lost the replica is not behind")
	}
	record := rest[0].host.replica(testShard)
	if err := rest[0].host.replicas.set(testShard, record.discard(record.Replica)); err != nil {
		t.Fatal(err)
	}
	if err := again.Behind(rest[0].config.Host)(rest[0].host.Positions()); err != nil {
		t.Errorf("a host that has discarded the replica is behind: %v", err)
	}
	later := []transport.Position{{Shard: testShard, Replica: 1030, Term: 1}}
	if err := again.Behind(rest[0].config.Host)(later); err != nil {
		t.Errorf("a host that has a later replica is behind: %v", err)
	}
}

// TestAHeartbeatThatKnowsMoreStopsTheHost: the engine would stop the process.
func TestAHeartbeatThatKnowsMoreStopsTheHost(t *testing.T) {
	var stopped []error
	one := newCluster(t, 1, func(c *Config) { c.Damaged = func(err error) { stopped = append(stopped, err) } })[0]
	one.open()
	leaderOf(t, []*member{one})
	one.mustPropose(0, 3)
	last := one.host.Status()[0].LastIndex
	say := func(commit uint64) uint64 {
		m := []raftpb.Message{{Type: raftpb.Heartbeat, ShardID: testShard, From: 2, To: 1, Term: 9, Commit: commit}}
		one.host.Received(2, m)
		return m[0].Commit
	}
	if commit := say(last); commit != last || len(stopped) > 0 {
		t.Errorf("what it has is reported: %v", stopped)
	}
	if commit := say(last + 1); commit != 0 || len(stopped) != 1 || !errors.Is(stopped[0], ErrSetBack) {
		t.Errorf("the engine gets %d, and the host stops for %v", commit, stopped)
	}
}
