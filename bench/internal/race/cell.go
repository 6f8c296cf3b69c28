// Package race runs the matrix: every workload, with every number of hosts, by every able contestant in turn, round
// after round.
package race

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/bench/internal/doors"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/results"
)

// Cell is one workload at one size.
type Cell struct {
	// Name is the workload and its size, such as lock-512.
	Name     string
	Workload string
	Callers  int
	Watchers int
	// Connections is the number of connections; zero means the race's settings.
	Connections int
	// Hosts lists the cell's cluster sizes.
	Hosts []int
	// Contestants are the able contestants.
	Contestants []string
	// LeastDuration is how long is measured at least.
	LeastDuration time.Duration
	// Flags are added for loadgen.
	Flags []string
	// OnlyNamed excludes the slow cell unless the user names it.
	OnlyNamed bool
}

// pingInterval is the interval of pings from a client with idle sessions.
const pingInterval = 10 * time.Second

var (
	everybody   = []string{results.Signalbox, results.Etcd, results.ZooKeeper}
	lockers     = append(slices.Clone(everybody), results.Redis)
	withoutJava = []string{results.Signalbox, results.Etcd}
	alone       = []string{results.Signalbox}
	machine     = []string{results.Floor}
)

// Matrix is all cells, in a round's order: cells compared by a target stand together.
func Matrix() []Cell {
	both := []int{1, 3}
	sized := func(workload string, callers int, contestants []string) Cell {
		return Cell{
			Name: fmt.Sprintf("%s-%d", workload, callers), Workload: workload, Callers: callers,
			Hosts: both, Contestants: contestants,
		}
	}
	// ZooKeeper notifies a session once per watched node, for any number of watchers in the session. A thousand
	// watchers would need a thousand connections that re-register after every event, a different workload.
	watch := func(watchers int) Cell {
		return Cell{
			Name: fmt.Sprintf("watch-%d", watchers), Workload: "watch", Callers: 1, Watchers: watchers,
			Hosts: both, Contestants: withoutJava,
		}
	}
	http := func(workload string, callers int, contestants []string) Cell {
		cell := sized(workload, callers, contestants)
		cell.Hosts = []int{1}
		return cell
	}
	return []Cell{
		{Name: "fsync", Workload: "fsync", Callers: 1, Hosts: []int{1}, Contestants: machine},
		{Name: "proposal", Workload: "proposal", Callers: 1, Hosts: both, Contestants: machine},
		sized("echo", 1, alone),
		sized("lock", 1, lockers),
		sized("lock", 64, lockers),
		sized("lock", 512, lockers),
		sized("handoff", 32, everybody),
		sized("read-strict", 64, everybody),
		sized("echo", 64, alone),
		sized("read-relaxed", 64, everybody),
		sized("session", 64, everybody),
		http(doors.Echo, 1, alone),
		http(doors.Lock, 1, withoutJava),
		http(doors.Echo, 64, alone),
		http(doors.Lock, 64, withoutJava),
		{
			Name: "barrier-1", Workload: "barrier", Callers: 1, Connections: load.Parties, Hosts: both,
			Contestants: everybody,
		},
		{
			Name: "failover-8", Workload: "failover", Callers: 8, Connections: 8, Hosts: []int{3},
			Contestants: everybody,
		},
		{
			Name: "growth-512", Workload: "growth", Callers: 512, Hosts: []int{1}, OnlyNamed: true,
			Contestants: withoutJava,
		},
		watch(1_000),
		watch(10_000),
		{
			Name: "idle-sessions", Workload: "idle", Hosts: []int{1}, Contestants: alone,
			Connections: 100, LeastDuration: pingInterval, Flags: []string{"--sessions", "100000"},
		},
		{
			Name: "idle-connections", Workload: "idle", Hosts: []int{1}, Contestants: alone,
			Connections: 15_000, Flags: []string{"--sessions", "15000"},
		},
		{
			Name: "discovery", Workload: "discovery", Watchers: 2_000, Hosts: []int{1}, Contestants: alone,
			Flags: []string{"--workers", "1000", "--rate", "100"},
		},
		{
			Name: "rollout-targets", Workload: "rollout-targets", Watchers: 5_000, Hosts: both, Contestants: alone,
		},
		{
			Name: "rollout-reports", Workload: "rollout-reports", Callers: 512, Hosts: both, Contestants: alone,
		},
	}
}

// Choice is a selection from the matrix. An empty field selects everything.
type Choice struct {
	// Cells are names, or patterns such as lock-*.
	Cells       []string
	Hosts       []int
	Contestants []string
}

// From returns the chosen cells. A pattern or name without a match is an error.
func (c Choice) From(matrix []Cell) ([]Cell, error) {
	for _, name := range c.Contestants {
		if !slices.Contains(slices.Concat(lockers, machine), name) {
			return nil, fmt.Errorf("there is no contestant %q; there are %v and %v", name, lockers, machine)
		}
	}
	matrix = append(slices.Clone(matrix), c.resized(matrix)...)
	for _, pattern := range c.Cells {
		if !slices.ContainsFunc(matrix, func(cell Cell) bool { return matches(pattern, cell.Name) }) {
			return nil, fmt.Errorf("no workload is named %q; the command matrix lists them", pattern)
		}
	}
	var chosen []Cell
	for _, cell := range matrix {
		if len(c.Cells) == 0 && cell.OnlyNamed {
			continue
		}
		if len(c.Cells) > 0 && !slices.ContainsFunc(c.Cells, func(p string) bool { return matches(p, cell.Name) }) {
			continue
		}
		cell.Hosts = among(cell.Hosts, c.Hosts)
		cell.Contestants = among(cell.Contestants, c.Contestants)
		cell.Hosts = slices.DeleteFunc(slices.Clone(cell.Hosts), func(hosts int) bool {
			return !slices.ContainsFunc(cell.Contestants, func(name string) bool { return cell.isFor(name, hosts) })
		})
		if len(cell.Hosts) > 0 && len(cell.Contestants) > 0 {
			chosen = append(chosen, cell)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("nothing is left to run: no workload is for that number of hosts and these contestants")
	}
	return chosen, nil
}

// resized creates cells for names like lock-100 outside the matrix, if the matrix has the workload at another size.
func (c Choice) resized(matrix []Cell) []Cell {
	var made []Cell
	for _, name := range c.Cells {
		dash := max(strings.LastIndex(name, "-"), 0)
		workload, size := name[:dash], strings.TrimPrefix(name[dash:], "-")
		n, err := strconv.Atoi(size)
		like := slices.IndexFunc(matrix, func(cell Cell) bool { return cell.Name == workload+"-"+cell.size() })
		known := slices.ContainsFunc(matrix, func(cell Cell) bool { return cell.Name == name })
		if err != nil || n < 1 || like < 0 || known {
			continue
		}
		cell := matrix[like]
		cell.Name = name
		if cell.Watchers > 0 {
			cell.Watchers = n
		} else {
			cell.Callers = n
		}
		made = append(made, cell)
	}
	return made
}

// isFor reports whether a contestant can run the cell on so many hosts.
func (c Cell) isFor(contestant string, hosts int) bool {
	return slices.Contains(c.Contestants, contestant) && (hosts == 1 || contestant != results.Redis)
}

// size is the number of watchers, or else callers.
func (c Cell) size() string { return strconv.Itoa(max(c.Callers, c.Watchers)) }

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// among returns the wanted elements; without wanted elements, all.
func among[T comparable](all, wanted []T) []T {
	if len(wanted) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(x T) bool { return !slices.Contains(wanted, x) })
}
