package protocol

import "strconv"

// Consistency says how fresh what is read, or attached to, must be.
type Consistency uint8

const (
	// ConsistencyUnset leaves the choice to the node, and in a node's config to the default.
	ConsistencyUnset Consistency = 0
	// ConsistencyStrict: nothing acknowledged before the request was sent may be missing. It costs a
	// round among the hosts of the shard, which many requests share.
	ConsistencyStrict Consistency = 1
	// ConsistencyRelaxed: from the memory of a host that knew lately that it was up to date.
	ConsistencyRelaxed Consistency = 2
)

var consistencyNames = [...]string{
	ConsistencyUnset:   "UNSET",
	ConsistencyStrict:  "STRICT",
	ConsistencyRelaxed: "RELAXED",
}

// String returns the mode as the docs write it, or its number where it is not known here.
func (m Consistency) String() string {
	if int(m) < len(consistencyNames) {
		return consistencyNames[m]
	}
	return "CONSISTENCY_" + strconv.Itoa(int(m))
}
