package raftlog

import (
	"log/slog"
	"time"
	_ "unsafe" // for go:linkname
)

// Each engine worker checks every 200 ms for added or removed shards, though each such change wakes all workers
// (setCCIReady): five needless wake-ups per second and worker. The interval is set as in entryslices.go, if the engine
// has the expected value.
const (
	foundReload = 200 * time.Millisecond
	reloadEvery = time.Second
)

// nodeReloadInterval is the engine's interval between two checks.
//
//go:linkname nodeReloadInterval github.com/lni/dragonboat/v4.nodeReloadInterval
var nodeReloadInterval time.Duration

// reloadSet is true if the engine had the expected value.
var reloadSet bool

func init() { reloadSet = setReload(&nodeReloadInterval) }

// setReload sets the interval, unless the engine has an unexpected value.
func setReload(interval *time.Duration) bool {
	if *interval != foundReload {
		return false
	}
	*interval = reloadEvery
	return true
}

// reportReload logs that the interval was not changed.
func reportReload(logger *slog.Logger) {
	if !reloadSet {
		logger.Info("the engine looks for shards as often as it would: an idle host takes more processor time",
			"interval", nodeReloadInterval)
	}
}
