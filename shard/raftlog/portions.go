package raftlog

import (
	"log/slog"
	_ "unsafe" // for go:linkname
)

// The engine reads up to 64 MiB of the log at a time, for a host that lags and for the state machine, and at a start
// puts 64 such tasks before the state machine. A host with little memory would be ended by a follower that comes back,
// and would need far more memory to start than to serve. So the engine takes small portions. The variables are set as
// the slices of entries are (entryslices.go), if the engine has the expected values.
const (
	foundPortion   = 64 << 20
	applyBytes     = 1 << 20 // of a task for the state machine
	replicateBytes = 2 << 20 // of a message to another host

	foundAhead, tasksAhead = 64, 4 // tasks that wait for the state machine
)

// maxEntriesToApplySize is how many bytes of entries the engine puts into one task for the state machine.
//
//go:linkname maxEntriesToApplySize github.com/lni/dragonboat/v4/internal/raft.maxEntriesToApplySize
var maxEntriesToApplySize uint64

// maxEntrySize is how many bytes of entries the engine puts into one message.
//
//go:linkname maxEntrySize github.com/lni/dragonboat/v4/internal/raft.maxEntrySize
var maxEntrySize uint64

// taskQueueBusyCap is the number of waiting tasks from which the engine adds none.
//
//go:linkname taskQueueBusyCap github.com/lni/dragonboat/v4/internal/rsm.taskQueueBusyCap
var taskQueueBusyCap uint64

// portionsSet: the engine had the expected values.
var portionsSet bool

func init() { portionsSet = setPortions(&maxEntriesToApplySize, &maxEntrySize, &taskQueueBusyCap) }

// setPortions sets the variables, unless the engine has unexpected values.
func setPortions(apply, replicate, ahead *uint64) bool {
	if *apply != foundPortion || *replicate != foundPortion || *ahead != foundAhead {
		return false
	}
	*apply, *replicate, *ahead = applyBytes, replicateBytes, tasksAhead
	return true
}

// reportPortions logs that the variables were left alone.
func reportPortions(logger *slog.Logger) {
	if !portionsSet {
		logger.Warn("the engine reads as much of the log at a time as it would: a host with little memory may run out "+
			"of it", "apply", maxEntriesToApplySize, "replicate", maxEntrySize, "tasks", taskQueueBusyCap)
	}
}
