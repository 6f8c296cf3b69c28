package race

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/bench/internal/growth"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/results"
)

// Settings are those of every run of a race.
type Settings struct {
	Rounds      int
	Warmup      time.Duration
	Duration    time.Duration
	Connections int
	// Kills is how many leaders are killed in a round of fail-overs.
	Kills int
	// Growth is what servers are filled with where they are to grow.
	Growth growth.Plan
	// JavaWarmup is the warm-up of servers in Java, which are slow for their first seconds: what runs often
	// is compiled only while they run.
	JavaWarmup time.Duration
	// SyncDelay is how much longer each sync of a file takes, LinkDelay how long each message between hosts takes.
	SyncDelay, LinkDelay time.Duration
	// Dir is where the data of all servers goes, each in a directory of its own that is removed after
	// its run.
	Dir string
}

// Task is one run: a cell, on a number of hosts.
type Task struct {
	Cell
	Hosts int
	Settings
}

// overhead is about what it takes to start servers, prepare callers, stop and remove everything.
const overhead = 1500 * time.Millisecond

// Estimate is about how long a race takes where every cell is run by those who are named.
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

// killed is about what one fail-over takes, until the killed host has caught up.
const killed = 5 * time.Second

// filled is about what it takes to make one thing of a server that grows.
const filled = 100 * time.Microsecond

// estimate is about how long a run of a contestant takes without its overhead.
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

// connections is how many there are: no more than are used.
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

// planFlags are the flags that loadgen and the drivers of peers have in common.
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
