package hub

import (
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Options adjust a hub. Zero fields have the defaults.
type Options struct {
	// Window is how long changes of a semaphore are gathered at the least after others were sent. Zero: for
	// as long as sending asks for.
	Window time.Duration
	// SlowBytes is how much may wait to be sent over a connection before its watches are left out. It
	// must not be less than what makes the connection's transport say, later, that it has drained.
	SlowBytes int
	// PageBytes is the size at which a page of a snapshot ends, and above which changes are sent as a
	// snapshot: no frame has more owners than that, and the one that reached it.
	PageBytes int
	// InflightBytes is how many bytes of snapshots may be under way to connections, all together, before
	// further ones wait for those.
	InflightBytes int
	// Halt is called where revisions do not grow, with no lock held: the replica must not go on. Nil panics.
	Halt func(error)
	// Budget bounds the memory of the watches of all hubs that share it; nil does not.
	Budget *Budget
}

const (
	// DefaultSlowBytes is transport.HighWater.
	DefaultSlowBytes = 1 << 20
	// DefaultInflightBytes is little memory for a host and more than any network takes in a moment.
	DefaultInflightBytes = 64 << 20
)

func (o Options) withDefaults() Options {
	if o.SlowBytes <= 0 {
		o.SlowBytes = DefaultSlowBytes
	}
	if o.PageBytes <= 0 || o.PageBytes > protocol.PageBytes {
		o.PageBytes = protocol.PageBytes
	}
	if o.Halt == nil {
		o.Halt = func(err error) { panic(err) }
	}
	if o.InflightBytes <= 0 {
		o.InflightBytes = DefaultInflightBytes
	}
	return o
}

const (
	// restShare is how much longer a round takes than what changed rests after it: sending takes four fifths of
	// the worker's time at the most, and bursts merge the more the more there is to send.
	restShare = 4
	// minRest is how little is not worth a rest: timers are a millisecond late on a host with nothing else to do.
	minRest = 200 * time.Microsecond

	// readTries is how often owners are read from the beginning because the semaphore changed beyond what
	// the machine's history has. The change itself brings the worker back later.
	readTries = 3
	// planBytes is how much may be read and encoded before what is planned is delivered. It bounds the
	// memory of a round, and the time that those wait who have theirs already.
	planBytes = 4 << 20
	// readCost is what asking the machine counts as, in bytes of planBytes.
	readCost = 1 << 10
	// longDelta is how many owners a delta may list without the question whether a snapshot is shorter.
	longDelta = 16
)

// rest is how long what was sent in a round that took so long is left alone.
func (h *Hub) rest(round time.Duration) time.Duration {
	rest := round / restShare
	if rest < minRest {
		rest = 0
	}
	return max(rest, h.options.Window)
}

// Counters are what a hub has and has done, for metrics.
type Counters struct {
	Topics  int // semaphores, and views of objects of other kinds, that are watched
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
