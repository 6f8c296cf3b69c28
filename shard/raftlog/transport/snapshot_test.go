package transport

import (
	"context"
	"errors"
	"testing"

	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
)

// chunkOf is one chunk from a two-chunk snapshot.
func chunkOf(index, id uint64) raftpb.Chunk {
	return raftpb.Chunk{ShardID: testShard, From: 2, ReplicaID: 1, Filepath: "snapshot", Index: index, ChunkId: id,
		ChunkCount: 2}
}

// TestAChunkIsSentWhenTheOneBeforeIsHandled: chunks that the engine considers sent have arrived.
func TestAChunkIsSentWhenTheOneBeforeIsHandled(t *testing.T) {
	for name, secret := range map[string][]byte{"without a secret": nil, "with a secret": testSecret} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, withSecret(secret))
			conn := e.connectForSnapshot(t)
			room := cap(e.chunks)
			ended := make(chan error, 1)
			go func() {
				for range room {
					if err := conn.SendChunk(chunkOf(7, 0)); err != nil {
						ended <- err
						return
					}
				}
				ended <- conn.SendChunk(chunkOf(7, 1))
			}()
			sent := &e.peer.replicas.(*testReplicas).sent
			eventually(t, "chunks for which there is room", func() bool {
				return len(e.chunks) == room && sent.Load() == int64(room)
			})
			select {
			case err := <-ended:
				t.Errorf("one that is not handled counts as sent: %v", err)
			default:
			}
			<-e.chunks
			if err := <-ended; err != nil || sent.Load() != int64(room)+1 {
				t.Errorf("%d were sent, %v", sent.Load(), err)
			}
		})
	}
}

// TestASnapshotWaitsForTheOneOnItsWay: to the same replica.
func TestASnapshotWaitsForTheOneOnItsWay(t *testing.T) {
	for name, c := range map[string]struct {
		arrives bool // the first
		next    uint64
		want    []raftpb.Chunk
	}{
		"it arrives, and is not sent again": {true, 7, []raftpb.Chunk{chunkOf(7, 0), chunkOf(7, 1)}},
		"it arrives, and the next one is": {true, 8,
			[]raftpb.Chunk{chunkOf(7, 0), chunkOf(7, 1), chunkOf(8, 0), chunkOf(8, 1)}},
		"it does not, and it is sent again": {false, 7, []raftpb.Chunk{chunkOf(7, 0), chunkOf(7, 0), chunkOf(7, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			first, next := e.connectForSnapshot(t), e.connectForSnapshot(t)
			if err := first.SendChunk(chunkOf(7, 0)); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				ended <- errors.Join(next.SendChunk(chunkOf(c.next, 0)), next.SendChunk(chunkOf(c.next, 1)))
			}()
			e.peer.awaitDeliveries(t, 2)
			if c.arrives {
				if err := first.SendChunk(chunkOf(7, 1)); err != nil {
					t.Fatal(err)
				}
			}
			first.Close()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			next.Close()
			e.peer.awaitDeliveries(t, 0)
			if len(e.chunks) != len(c.want) {
				t.Errorf("%d chunks arrived, want %d", len(e.chunks), len(c.want))
			}
			for _, want := range c.want[:min(len(c.want), len(e.chunks))] {
				if got := <-e.chunks; got.Index != want.Index || got.ChunkId != want.ChunkId {
					t.Errorf("chunk %d of %d arrived, want %d of %d", got.ChunkId, got.Index, want.ChunkId, want.Index)
				}
			}
		})
	}
}

// TestASnapshotThatIsThereAlreadyIsConfirmed: the snapshot is not passed to the engine, which would refuse the last
// chunk.
func TestASnapshotThatIsThereAlreadyIsConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		before, meanwhile uint64 // last entry present at the first chunk and at the last
		chunks            int    // passed to the engine
	}{
		"it is older than the log":          {8, 8, 0},
		"it is there":                       {7, 7, 0},
		"it is not":                         {6, 6, 2},
		"the log catches up while it comes": {6, 7, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t)
			replicas := e.replicas.(*testReplicas)
			conn := e.connectForSnapshot(t)
			for id, has := range []uint64{c.before, c.meanwhile} {
				replicas.has.Store(has)
				if err := conn.SendChunk(chunkOf(7, uint64(id))); err != nil {
					t.Fatal(err)
				}
			}
			if len(e.chunks) != c.chunks {
				t.Errorf("the engine was given %d chunks, want %d", len(e.chunks), c.chunks)
			}
			if n := e.refused[RefusedFull].Load(); n != 0 {
				t.Errorf("%d were counted as without room", n)
			}
		})
	}
}

// awaitDeliveries waits until the given number of snapshots are being sent to the test's replica, or wait for delivery.
func (e *engineEnd) awaitDeliveries(t *testing.T, want int) {
	t.Helper()
	eventually(t, "snapshots on their way", func() bool {
		e.deliveries.mu.Lock()
		defer e.deliveries.mu.Unlock()
		one := e.deliveries.ofReplica[raftio.GetNodeInfo(testShard, 1)]
		return want == 0 && one == nil || one != nil && one.users == want
	})
}

// TestTheEndOfTheEngineEndsSnapshots: snapshots waiting for their turn or for the other host.
func TestTheEndOfTheEngineEndsSnapshots(t *testing.T) {
	e := newEndpoint(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	handled := make(chan struct{})
	e.onChunk = func(raftpb.Chunk) bool { <-handled; return true }
	defer close(handled) // before the transport is closed
	ended := make(chan error, 2)
	for i := range 2 {
		conn := e.connectForSnapshotUntil(t, ctx)
		go func() { ended <- conn.SendChunk(chunkOf(7, 0)) }()
		e.peer.awaitDeliveries(t, i+1)
	}
	cancel()
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("it was sent")
		}
	}
}
