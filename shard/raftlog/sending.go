package raftlog

import (
	"sync"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// sendings are the snapshots being sent from this host to other hosts.
type sendings struct {
	mu  sync.Mutex
	all map[followerKey]sending // guarded by mu
}

// sending is a snapshot being sent.
type sending struct {
	began, last time.Time // times of the first and the last chunk
	bytes       uint64    // sent so far
	percent     uint64
}

// sendingPause is how long a snapshot still counts as being sent after the last chunk.
const sendingPause = 10 * time.Second

// Sent implements transport.Replicas.
func (h *Host) Sent(to shard.HostID, chunk *raftpb.Chunk) {
	s, key, now := &h.sendings, followerKey{shard: chunk.ShardID, host: to}, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if chunk.ChunkId+1 == chunk.ChunkCount {
		delete(s.all, key)
		return
	}
	one := s.all[key]
	if chunk.ChunkId == 0 {
		one = sending{began: now}
	}
	one.last, one.bytes = now, one.bytes+chunk.ChunkSize
	one.percent = (chunk.ChunkId + 1) * 100 / max(chunk.ChunkCount, 1)
	s.all[key] = one
}

// sendingTo returns the sent part of a snapshot to a host, in percent, and the rate, in bytes per second; zero if none
// is being sent.
func (h *Host) sendingTo(shardID uint64, to shard.HostID) (percent, rate uint64) {
	s := &h.sendings
	s.mu.Lock()
	defer s.mu.Unlock()
	one, known := s.all[followerKey{shard: shardID, host: to}]
	if !known || time.Since(one.last) > sendingPause {
		return 0, 0
	}
	took := max(time.Since(one.began), time.Millisecond)
	return max(one.percent, 1), uint64(float64(one.bytes) / took.Seconds())
}
