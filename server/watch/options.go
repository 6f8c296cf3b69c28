package watch

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Options configures a hub. Zero fields have defaults.
type Options struct {
	// Window is the minimum time for which a semaphore's changes are collected after earlier changes were sent. 0
	// means only as long as sending requires.
	Window time.Duration
	// SlowBytes is the number of unsent bytes per connection above which the hub skips its watches. SlowBytes must
	// not be below the number from which the connection's transport later reports a drain.
	SlowBytes int
	// PageBytes is the size at which a snapshot page ends, and above which changes are sent as a snapshot. A frame
	// contains at most PageBytes of owners, plus the owner at the limit.
	PageBytes int
	// InflightBytes is the number of snapshot bytes in flight to all connections above which further snapshots wait.
	InflightBytes int
	// Halt is called, without locks, if revisions do not increase: the replica must not continue. A nil Halt panics.
	Halt func(error)
	// Budget limits the watch memory over all hubs that share the Budget; nil means no limit.
	Budget *Budget
}

const (
	// DefaultSlowBytes is transport.HighWater.
	DefaultSlowBytes = 1 << 20
	// DefaultInflightBytes is little memory for a host, but more than any network accepts in a moment.
	DefaultInflightBytes = 64 << 20
)

func (o Options) withDefaults() Options {
	o.SlowBytes = cmp.Or(max(o.SlowBytes, 0), DefaultSlowBytes)
	o.PageBytes = min(cmp.Or(max(o.PageBytes, 0), protocol.PageBytes), protocol.PageBytes)
	if o.Halt == nil {
		o.Halt = func(err error) { panic(err) }
	}
	o.InflightBytes = cmp.Or(max(o.InflightBytes, 0), DefaultInflightBytes)
	return o
}

const (
	// restShare is the ratio of a round's duration to the rest of its objects afterwards: sending takes at most four
	// fifths of the worker's time, and the more there is to send, the more bursts merge.
	restShare = 4
	// minRest is the shortest rest for which a timer is worthwhile: timers are a millisecond late on an otherwise
	// idle host.
	minRest = 200 * time.Microsecond

	// readTries is the number of attempts to read owners from the beginning if the semaphore has changed more than
	// the machine's history holds. After that, the change itself triggers the worker again.
	readTries = 3
	// planBytes is how much may be read and encoded before the plans are delivered. The limit bounds a round's
	// memory, and the wait for watches whose frames are already planned.
	planBytes = 4 << 20
	// readCost is the number of planBytes that a machine read counts as.
	readCost = 1 << 10
	// longDelta is the number of owners in a delta above which the worker checks whether a snapshot is shorter.
	longDelta = 16
)

// rest returns how long objects rest after a round with the given duration.
func (h *Hub) rest(round time.Duration) time.Duration {
	rest := round / restShare
	if rest < minRest {
		rest = 0
	}
	return max(rest, h.options.Window)
}

// Counters are a hub's state and work, for metrics.
type Counters struct {
	Topics  int // watched semaphores, and watched views of other objects
	Watches int
	Slow    int // watches skipped because their connections are slow
	Ahead   int // watches that wait until the replica has reached their revision

	// The fields below count since the hub was created.
	Deltas    uint64 // frames with changes
	Snapshots uint64 // snapshots, each counted once for all its pages
	Resyncs   uint64
	Bytes     uint64 // in all frames
}

type counters struct {
	topics, slow, ahead               atomic.Int64
	deltas, snapshots, resyncs, bytes atomic.Uint64
}

// Counters returns the hub's state and work. Safe for concurrent use.
func (h *Hub) Counters() Counters {
	c := &h.counters
	return Counters{
		Topics: int(c.topics.Load()), Watches: h.Len(), Slow: int(c.slow.Load()), Ahead: int(c.ahead.Load()),
		Deltas: c.deltas.Load(), Snapshots: c.snapshots.Load(), Resyncs: c.resyncs.Load(), Bytes: c.bytes.Load(),
	}
}

// Len returns the number of open watches.
func (h *Hub) Len() int { return int(h.open.Load()) }
