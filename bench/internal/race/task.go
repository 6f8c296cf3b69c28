package race

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/bench/internal/growth"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/results"
)

// Settings are the settings for every run in a race.
type Settings struct {
	Rounds      int
	Warmup      time.Duration
	Duration    time.Duration
	Connections int
	// Kills is the number of leaders killed in a failover round.
	Kills int
	// Growth is the fill plan for growth workloads.
	Growth growth.Plan
	// JavaWarmup is the warm-up time for Java servers, which are slow in their first seconds because hot code is
	// compiled at run time.
	JavaWarmup time.Duration
	// SyncDelay is the extra time for each file sync, LinkDelay the extra time for each message between hosts.
	SyncDelay, LinkDelay time.Duration
	// Dir is the directory for all servers' data. Each run has a subdirectory, removed after the run.
	Dir string
}

// Task is one run: a cell, on a number of hosts.
type Task struct {
	Cell
	Hosts int
	Settings
}

// overhead is the approximate time to start servers, prepare callers, stop and clean up.
const overhead = 1500 * time.Millisecond

// Estimate returns the approximate time for a race in which every named contestant runs every cell.
func (s Settings) Estimate(cells []Cell, contestants []Contestant) time.Duration {
	var round time.Duration
	for _, cell := range cells {
		for _, c := range contestants {
			each := overhead + Task{Cell: cell, Settings: s}.estimate(c.Name())
			for _, hosts := range cell.Hosts {
				if cell.isFor(c.Name(), hosts) {
					round += each
				}
			}
		}
	}
	return time.Duration(s.Rounds) * round
}

// killed is the approximate time for one failover, until the killed host has caught up.
const killed = 5 * time.Second

// filled is the approximate time to create one object in a growing server.
const filled = 100 * time.Microsecond

// estimate returns the approximate run time for a contestant without overhead.
func (t Task) estimate(contestant string) time.Duration {
	switch {
	case t.fails():
		return time.Duration(t.Kills) * killed
	case t.grows():
		return time.Duration(t.Growth.Objects+t.Growth.Sessions)*filled + 4*(t.Warmup+t.duration())
	}
	if contestant == results.ZooKeeper {
		t.Warmup = max(t.Warmup, t.JavaWarmup)
	}
	return t.Warmup + t.duration()
}

// connections is the number of connections, no more than callers use.
func (t Task) connections() int {
	if t.Cell.Connections > 0 {
		return t.Cell.Connections
	}
	return max(1, min(t.Settings.Connections, max(t.Callers, t.Watchers)))
}

// duration is how long is measured.
func (t Task) duration() time.Duration { return max(t.Duration, t.LeastDuration) }

func (t Task) plan() load.Plan {
	return load.Plan{
		Workload: t.Workload, Hosts: t.Hosts, Callers: t.Callers, Connections: t.connections(),
		Watchers: t.Watchers, Warmup: t.Warmup, Duration: t.duration(),
	}
}

// planFlags are the flags that loadgen and the peers' drivers share.
func (t Task) planFlags() []string {
	flags := []string{
		"--workload", t.Workload, "--hosts", fmt.Sprint(t.Hosts), "--connections", fmt.Sprint(t.connections()),
		"--warmup", t.Warmup.String(), "--duration", t.duration().String(),
	}
	if t.Callers > 0 {
		flags = append(flags, "--concurrency", fmt.Sprint(t.Callers))
	}
	if t.Watchers > 0 {
		flags = append(flags, "--watchers", fmt.Sprint(t.Watchers))
	}
	return flags
}
