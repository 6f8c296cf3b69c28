package watch

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Options adjust a hub. Zero fields have the defaults.
type Options struct {
	// Window is how long changes of a semaphore are gathered at least after earlier changes were sent. Zero: only as
	// long as sending asks for.
	Window time.Duration
	// SlowBytes is how much may wait to be sent over a connection before the hub leaves out its watches. SlowBytes
	// must not be below the amount from which the connection's transport reports a later drain.
	SlowBytes int
	// PageBytes is the size at which a page of a snapshot ends, and above which changes are sent as a snapshot. A
	// frame has at most PageBytes of owners, and the owner at the limit.
	PageBytes int
	// InflightBytes is how many bytes of snapshots may be under way to all connections together before further
	// snapshots wait.
	InflightBytes int
	// Halt is called, with no lock held, when revisions do not grow: the replica must not go on. A nil Halt panics.
	Halt func(error)
	// Budget bounds the memory of the watches of all hubs that share the Budget; nil sets no bound.
	Budget *Budget
}

const (
	// DefaultSlowBytes is transport.HighWater.
	DefaultSlowBytes = 1 << 20
	// DefaultInflightBytes is little memory for a host and more than any network takes in a moment.
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
	// restShare is how much longer a round takes than the objects of the round rest afterwards: sending takes four
	// fifths of the worker's time at most, and the more there is to send, the more bursts merge.
	restShare = 4
	// minRest is the shortest rest that is worth a timer: timers are a millisecond late on a host with nothing else
	// to do.
	minRest = 200 * time.Microsecond

	// readTries is how often owners are read from the beginning when the semaphore has changed more than the
	// machine's history holds. Afterwards the change itself brings the worker back.
	readTries = 3
	// planBytes is how much may be read and encoded before the plans are delivered. This bounds the memory of a
	// round, and the time that the watches wait whose frames are planned already.
	planBytes = 4 << 20
	// readCost is how many bytes of planBytes a question to the machine counts as.
	readCost = 1 << 10
	// longDelta is how many owners a delta may list before the worker asks whether a snapshot is shorter.
	longDelta = 16
)

// rest is how long objects are left alone after a round that took so long.
func (h *Hub) rest(round time.Duration) time.Duration {
	rest := round / restShare
	if rest < minRest {
		rest = 0
	}
	return max(rest, h.options.Window)
}

// Counters are the state and the work of a hub, for metrics.
type Counters struct {
	Topics  int // watched semaphores, and watched views of objects of other kinds
	Watches int
	Slow    int // watches that are left out because their connections take too little
	Ahead   int // watches that wait until this replica has reached their revision

	// The fields below count since the hub was made.
	Deltas    uint64 // frames of changes
	Snapshots uint64 // snapshots, each counted once however many pages it has
	Resyncs   uint64
	Bytes     uint64 // in all frames
}

type counters struct {
	topics, slow, ahead               atomic.Int64
	deltas, snapshots, resyncs, bytes atomic.Uint64
}

// Counters returns the state and the work of the hub. Any goroutine may call it.
func (h *Hub) Counters() Counters {
	c := &h.counters
	return Counters{
		Topics: int(c.topics.Load()), Watches: h.Len(), Slow: int(c.slow.Load()), Ahead: int(c.ahead.Load()),
		Deltas: c.deltas.Load(), Snapshots: c.snapshots.Load(), Resyncs: c.resyncs.Load(), Bytes: c.bytes.Load(),
	}
}

// Len returns how many watches are open.
func (h *Hub) Len() int { return int(h.open.Load()) }
