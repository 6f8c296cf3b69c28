package transport

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
)

// taking has the host take the log, and snapshots up to a size, or neither.
func (e *endpoint) taking(yes *atomic.Bool, snapshot uint64) {
	e.of().takes = func(shardID, bytes uint64) bool { return shardID == testShard && yes.Load() && bytes <= snapshot }
}

func TestEntriesThatAreNotTakenAreDroppedAndHeartbeatsGoOn(t *testing.T) {
	var takes atomic.Bool
	e := newEndpoint(t)
	e.taking(&takes, 0)
	conn := e.connect(t)
	batch := goodBatch("an entry")
	heartbeat := raftpb.Message{Type: raftpb.Heartbeat, From: 2, To: 1, ShardID: testShard}
	for _, want := range [][]raftpb.MessageType{
		{raftpb.Heartbeat}, {raftpb.Replicate, raftpb.Heartbeat},
	} {
		batch.Requests = append(slices.Clone(batch.Requests[:1]), heartbeat)
		if err := conn.SendMessageBatch(batch); err != nil {
			t.Fatal(err)
		}
		var got []raftpb.MessageType
		for _, m := range (<-e.batches).Requests {
			got = append(got, m.Type)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the engine was given %v, want %v", got, want)
		}
		takes.Store(true)
	}
	if n := e.refused[RefusedFull].Load(); n != 1 {
		t.Errorf("%d were counted", n)
	}
	if e.Close(); e.log.String() != "" {
		t.Errorf("each is logged:\n%s", e.log)
	}
}

// TestASnapshotThatIsNotTakenIsDroppedToItsEnd: its connection stays open, because the sender's engine would hold its
// end against the whole host.
func TestASnapshotThatIsNotTakenIsDroppedToItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		size   uint64
		at     uint64 // first chunk without space
		chunks int    // passed to the engine
	}{
		"one that fits":         {100, 4, 4},
		"one that is too large": {101, 4, 0},
		"the disk fills":        {100, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var takes atomic.Bool
			e := newEndpoint(t)
			e.taking(&takes, 100)
			conn := e.connectForSnapshot(t)
			for id := range uint64(4) {
				takes.Store(id != c.at) // there is space again for the next one
				chunk := raftpb.Chunk{ShardID: testShard, From: 2, ReplicaID: 1, Filepath: "snapshot", Index: 1,
					ChunkId: id, FileSize: c.size}
				if err := conn.SendChunk(chunk); err != nil {
					t.Fatal(err)
				}
				eventually(t, "chunk that is counted", func() bool {
					return len(e.chunks)+int(e.refused[RefusedFull].Load()) == int(id)+1
				})
			}
			if len(e.chunks) != c.chunks {
				t.Errorf("the engine was given %d chunks, want %d", len(e.chunks), c.chunks)
			}
		})
	}
}
