package client

import "github.com/signalbox/signalbox/protocol"

// Consistency says how fresh what is read must be.
type Consistency uint8

const (
	// Strict: nothing that was answered before the request may be missing. It costs a round among hosts.
	Strict = Consistency(protocol.ConsistencyStrict)
	// Relaxed: from the memory of a host that knew lately that it was up to date.
	Relaxed = Consistency(protocol.ConsistencyRelaxed)
)

// String returns the mode as the docs write it.
func (c Consistency) String() string { return protocol.Consistency(c).String() }

// Counters says how finely the metrics of a node count.
type Counters uint8

const (
	// Aggregated counts by semaphore. It is the default, but then ephemeral semaphores do not count.
	Aggregated = Counters(protocol.CountersAggregated)
	// Detailed counts by owner too.
	Detailed = Counters(protocol.CountersDetailed)
)

// String returns the mode as the docs write it.
func (c Counters) String() string { return protocol.CountersMode(c).String() }
