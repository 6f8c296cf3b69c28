package meta

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// TestRepeatedShardAddNamesTheSameShards: the answer to the first request is kept, also in snapshots. An objection that
// the governor has at the repetition does not count, nor does one that has passed.
func TestRepeatedShardAddNamesTheSameShards(t *testing.T) {
	c := withHosts(t, "a", "b")
	add := func(number uint64, r *ShardAdd) Effect {
		command := by(1, number, c.NextAnswer(), NewCommand(r, origin))
		return c.apply(c.stamp(1), command)[0]
	}
	last := c.topology.records.LastShard()
	refused := add(1, &ShardAdd{Hosts: []shard.HostID{1}, Against: "host b is overdue"})
	first := add(2, &ShardAdd{Hosts: []shard.HostID{1, 2, 1}})
	second := add(3, &ShardAdd{Hosts: []shard.HostID{2}})
	if refused.Status != protocol.StatusPreconditionFailed || first.Shard != last+1 || second.Shard != last+4 {
		t.Fatalf("the shards after %d are %+v and %+v, against one: %+v", last, first, second, refused)
	}
	restored := copyOf(t, c.Machine)
	mustEqual(t, restored, c.Machine)
	c.Machine = restored
	if again := add(1, &ShardAdd{Hosts: []shard.HostID{1}}); again.Status != refused.Status || again.Shard != 0 {
		t.Errorf("what was refused is answered with %+v", again)
	}
	if again := add(2, &ShardAdd{Against: "host b is overdue"}); again.Status != protocol.StatusSuccess ||
		again.Shard != first.Shard || c.topology.records.LastShard() != second.Shard {
		t.Errorf("the repeated request is answered with %+v", again)
	}
}
