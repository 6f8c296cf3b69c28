package raftlog

import (
	"log/slog"
	_ "unsafe" // for go:linkname
)

// The engine reads up to 64 MiB of log at a time, for a lagging host and for the state machine, and at a start queues
// 64 such tasks for the state machine. On a host with little memory, a returning follower could exhaust the memory, and
// the host would need far more memory to start than to serve. So the engine gets smaller portions. The variables are
// set as in entryslices.go, if the engine has the expected values.
const (
	foundPortion   = 64 << 20
	applyBytes     = 1 << 20 // per state machine task
	replicateBytes = 2 << 20 // per message to another host

	foundAhead, tasksAhead = 64, 4 // tasks waiting for the state machine
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

// portionsSet is true if the engine had the expected values.
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

// reportPortions logs that the variables were not changed.
func reportPortions(logger *slog.Logger) {
	if !portionsSet {
		logger.Warn("the engine reads as much of the log at a time as it would: a host with little memory may run out "+
			"of it", "apply", maxEntriesToApplySize, "replicate", maxEntrySize, "tasks", taskQueueBusyCap)
	}
}
