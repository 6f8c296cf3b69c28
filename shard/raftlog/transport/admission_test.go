package transport

import (
	"strings"
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
)

func TestMessagesThatNoPeerSendsAreDroppedAndCounted(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*raftpb.Message)
		reason Refusal
	}{
		"to nobody":              {func(m *raftpb.Message) { m.To = 0 }, RefusedReplica},
		"to a replica elsewhere": {func(m *raftpb.Message) { m.To = 3 }, RefusedReplica},
		"of a removed replica":   {func(m *raftpb.Message) { m.From = 1031 }, RefusedReplica},
		"a vote of a replica that is no member": {func(m *raftpb.Message) {
			m.Type, m.From = raftpb.RequestVoteResp, 1040
		}, RefusedReplica},
		"a promise to vote of a replica that is no member": {func(m *raftpb.Message) {
			m.Type, m.From = raftpb.RequestPreVoteResp, 1040
		}, RefusedReplica},
		"to an unknown shard":       {func(m *raftpb.Message) { m.ShardID = 99 }, RefusedShard},
		"a tick":                    {func(m *raftpb.Message) { m.Type = raftpb.LocalTick }, RefusedMessage},
		"an election":               {func(m *raftpb.Message) { m.Type = raftpb.Election }, RefusedMessage},
		"a change of members":       {func(m *raftpb.Message) { m.Type = raftpb.ConfigChangeEvent }, RefusedMessage},
		"a snapshot without chunks": {func(m *raftpb.Message) { m.Type = raftpb.InstallSnapshot }, RefusedMessage},
		"a type that is not there":  {func(m *raftpb.Message) { m.Type = 1000 }, RefusedMessage},
		"a negative type":           {func(m *raftpb.Message) { m.Type = -1 }, RefusedMessage},
		"a proposal":                {func(m *raftpb.Message) { m.Type = raftpb.Propose }, RefusedMessage},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			e.of().route = routeOf(1, map[uint64]Target{1031: {}}) // it was removed
			conn := e.connect(t)
			batch := goodBatch("the rest")
			bad := batch.Requests[0]
			test.change(&bad)
			batch.Requests = append([]raftpb.Message{bad}, batch.Requests...)
			if err := conn.send(frameMessages, batch.SizeUpperLimit(), batch.MarshalTo); err != nil {
				t.Fatal(err)
			}
			got := <-e.batches
			if len(got.Requests) != 1 || string(got.Requests[0].Entries[0].Cmd) != "the rest" {
				t.Errorf("the engine was given %v", got.Requests)
			}
			if e.refused[test.reason].Load() != 1 {
				t.Errorf("it was not counted as %v", test.reason)
			}
			if warned := strings.Contains(e.log.String(), "level=WARN"); warned == (test.reason == RefusedShard) {
				t.Errorf("%v, and the log has %q", test.reason, e.log.String()) // starting hosts lack shards
			}
		})
	}
}

func TestChunksThatNoPeerSendsEndTheConnection(t *testing.T) {
	good := raftpb.Chunk{ShardID: testShard, From: 2, ReplicaID: 1, Filepath: "snapshot", Index: 1}
	for name, change := range map[string]func(*raftpb.Chunk){
		"in another's name":      func(c *raftpb.Chunk) { c.From = 1 },
		"to a replica elsewhere": func(c *raftpb.Chunk) { c.ReplicaID = 3 },
		"of a removed replica":   func(c *raftpb.Chunk) { c.From = 1031 },
		"to an unknown shard":    func(c *raftpb.Chunk) { c.ShardID = 99 },
		"without a file":         func(c *raftpb.Chunk) { c.Filepath = "" },
		"above its directory":    func(c *raftpb.Chunk) { c.Filepath = "x/.." },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			e.of().route = routeOf(1, map[uint64]Target{1031: {}})
			conn := e.connectForSnapshot(t)
			chunk := good
			change(&chunk)
			if err := conn.SendChunk(chunk); err == nil {
				t.Error("it was taken")
			}
			awaitEnd(t, conn.conn)
			if len(e.chunks) != 0 {
				t.Error("the engine was given the chunk")
			}
		})
	}
}

// TestReplicasThatTheMembershipDoesNotHaveYetAreHeard: a replica that has just joined does not know its leader.
func TestReplicasThatTheMembershipDoesNotHaveYetAreHeard(t *testing.T) {
	for name, change := range map[string]func(*raftpb.Message){
		"a leader":          func(m *raftpb.Message) { m.From = 1040 },
		"a candidate":       func(m *raftpb.Message) { m.From, m.Type = 1040, raftpb.RequestVote },
		"an initial member": func(m *raftpb.Message) { m.From = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			e.of().route = &Route{Replica: 1}
			conn := e.connect(t)
			batch := goodBatch("heard")
			change(&batch.Requests[0])
			if err := conn.SendMessageBatch(batch); err != nil {
				t.Fatal(err)
			}
			if got := <-e.batches; len(got.Requests) != 1 {
				t.Errorf("the engine was given %v", got.Requests)
			}
		})
	}
}
