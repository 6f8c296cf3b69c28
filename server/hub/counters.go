package hub

import "sync/atomic"

// Counters are what a hub has and has done, for metrics.
type Counters struct {
	Topics  int // semaphores that are watched
	Watches int
	Slow    int // watches that are left out because their connections take too little
	Ahead   int // watches that wait until this replica has reached their revision

	// Counted since the hub was made.
	Deltas    uint64 // frames of changes
	Snapshots uint64 // snapshots, each counted once however many pages it has
	Resyncs   uint64
	Bytes     uint64 // in all frames
}

type counters struct {
	topics, slow, ahead               atomic.Int64
	deltas, snapshots, resyncs, bytes atomic.Uint64
}

// Counters returns what the hub has and has done. Any goroutine may call it.
func (h *Hub) Counters() Counters {
	c := &h.counters
	return Counters{
		Topics: int(c.topics.Load()), Watches: h.Len(), Slow: int(c.slow.Load()), Ahead: int(c.ahead.Load()),
		Deltas: c.deltas.Load(), Snapshots: c.snapshots.Load(), Resyncs: c.resyncs.Load(), Bytes: c.bytes.Load(),
	}
}

// Len returns how many watches are open.
func (h *Hub) Len() int { return int(h.open.Load()) }
