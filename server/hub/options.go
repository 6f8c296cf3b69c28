package hub

import (
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
	// PageBytes is the size at which a page of a snapshot ends, and above which changes are told by a
	// snapshot: no frame has more owners than that, and the one that reached it.
	PageBytes int
	// FlightBytes is how many bytes of snapshots may be under way to connections, all together, before
	// further ones wait for those.
	FlightBytes int
	// Budget bounds the memory of the watches of all hubs that share it; nil does not.
	Budget *Budget
}

const (
	// DefaultSlowBytes is transport.HighWater.
	DefaultSlowBytes = 1 << 20
	// DefaultFlightBytes is little memory for a host and more than any network takes in a moment.
	DefaultFlightBytes = 64 << 20
)

func (o Options) withDefaults() Options {
	if o.SlowBytes <= 0 {
		o.SlowBytes = DefaultSlowBytes
	}
	if o.PageBytes <= 0 || o.PageBytes > protocol.PageBytes {
		o.PageBytes = protocol.PageBytes
	}
	if o.FlightBytes <= 0 {
		o.FlightBytes = DefaultFlightBytes
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
	// the machine's history tells. The change itself brings the worker back later.
	readTries = 3
	// planBytes is how much may be read and encoded before what is planned is delivered. It bounds the
	// memory of a round, and the time that those wait who have theirs already.
	planBytes = 4 << 20
	// readCost is what asking the machine counts as, in bytes of planBytes.
	readCost = 1 << 10
	// longDelta is how many owners a delta may tell of without the question whether a snapshot is shorter.
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
