package protocol

import "strconv"

// CountersMode says how finely the metrics of a node count.
type CountersMode uint8

const (
	// CountersUnset leaves the choice to the default: that is AGGREGATED, without ephemeral semaphores.
	CountersUnset CountersMode = 0
	// CountersAggregated counts by semaphore.
	CountersAggregated CountersMode = 1
	// CountersDetailed counts by owner too.
	CountersDetailed CountersMode = 2
)

var countersModeNames = [...]string{
	CountersUnset:      "UNSET",
	CountersAggregated: "AGGREGATED",
	CountersDetailed:   "DETAILED",
}

// String returns the mode as the docs write it, or its number where it is not known here.
func (m CountersMode) String() string {
	if int(m) < len(countersModeNames) {
		return countersModeNames[m]
	}
	return "COUNTERS_MODE_" + strconv.Itoa(int(m))
}
