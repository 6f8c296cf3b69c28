package hub

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Options adjust a hub. Zero fields have the defaults.
type Options struct {
	// Window is how long changes of a semaphore are gathered after others were sent.
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
}

const (
	// DefaultWindow is short for a person and long for a host: a burst of hundreds becomes one frame.
	DefaultWindow = 10 * time.Millisecond
	// DefaultSlowBytes is transport.HighWater.
	DefaultSlowBytes = 1 << 20
	// DefaultFlightBytes is little memory for a host and more than any network takes in a moment.
	DefaultFlightBytes = 64 << 20
)

func (o Options) withDefaults() Options {
	if o.Window <= 0 {
		o.Window = DefaultWindow
	}
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
