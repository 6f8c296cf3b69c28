package results

import (
	"fmt"

	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/loadgen/report"
)

// Names of contestants.
const (
	Signalbox = "signalbox"
	Etcd      = "etcd"
	ZooKeeper = "zookeeper"
	// Redis is one server that syncs its log, without replication to other hosts.
	Redis = "redis"
	// Floor is the machine's lower bound: the disk, and the bare Raft engine.
	Floor = "floor"
)

// Target is Signalbox's goal for one matrix cell.
type Target struct {
	Cell  string
	Hosts int
	// Text describes the comparison.
	Text string
	// Bound is the smallest value that meets the target, or, with AtMost, the largest.
	Bound  float64
	AtMost bool
	// Unit is printed after the value.
	Unit string
	// measure computes the value; ok is false if a required measurement is missing.
	measure func(r *Report) (value Ratio, ok bool)
}

// Targets returns all targets, in matrix order.
func Targets() []Target {
	var all []Target
	add := func(more ...Target) { all = append(all, more...) }

	add(times("lock-1", 1, Redis, 1), times("lock-64", 1, Redis, 1), times("lock-512", 1, Redis, 1.3))
	add(times("lock-512", 1, Etcd, 10), times("lock-512", 1, ZooKeeper, 8))
	add(times("lock-512", 3, Etcd, 10), times("lock-512", 3, ZooKeeper, 15))
	add(overFloor(1), overFloor(3))
	add(times("handoff-32", 1, ZooKeeper, 3), times("handoff-32", 1, Etcd, 10), times("handoff-32", 3, ZooKeeper, 10))
	add(times("read-strict-64", 1, Etcd, 3), times("read-strict-64", 3, Etcd, 3))
	add(overEcho(1), overEcho(3))
	add(times("http-lock-64", 1, Etcd, 3), overDoor("http-lock-64", "http-echo-64"))
	add(times("session-64", 1, Etcd, 10), times("session-64", 1, ZooKeeper, 6), times("session-64", 3, Etcd, 10))
	add(
		within("failover-8", 3, failover.Next, 700, "ms", Named(failover.Next)),
		within("failover-8", 3, failover.NextWorst, 1200, "ms", Named(failover.NextWorst)),
	)
	for _, watchers := range []string{"watch-1000", "watch-10000"} {
		add(times(watchers, 1, Etcd, 5), times(watchers, 3, Etcd, 5))
	}
	add(
		within("idle-sessions", 1, "server heap of a session", 1024, "B", HeapPerSession),
		within("idle-sessions", 1, "of one core while all are idle", 5, "%", CorePercent),
		within("idle-connections", 1, "server RSS of a connection with a session", 8192, "B", RSSPerSession),
		within("discovery", 1, "until every consumer is current, p99", 100, "ms", ConvergeMS),
		within("discovery", 1, "per change and consumer", 200, "B", BytesPerChange),
	)
	return all
}

// SlowDiskTargets returns the targets if every sync takes milliseconds longer, in matrix order.
func SlowDiskTargets() []Target {
	return []Target{
		times("lock-1", 1, Redis, 1), times("lock-64", 1, Redis, 1), times("lock-512", 1, Redis, 1),
		times("lock-64", 1, Etcd, 1.5), times("lock-64", 1, ZooKeeper, 1.5),
		times("lock-64", 3, Etcd, 2.5), times("lock-64", 3, ZooKeeper, 2),
		times("lock-512", 1, Etcd, 2.8), times("lock-512", 1, ZooKeeper, 2.8),
		times("lock-512", 3, Etcd, 5), times("lock-512", 3, ZooKeeper, 6),
		times("handoff-32", 1, Etcd, 2), times("handoff-32", 1, ZooKeeper, 2),
		times("handoff-32", 3, Etcd, 2), times("handoff-32", 3, ZooKeeper, 2),
		times("session-64", 1, ZooKeeper, 1.5), times("session-64", 3, ZooKeeper, 2),
	}
}

// times requires a multiple of a peer's rate in the same cell.
func times(cell string, hosts int, peer string, bound float64) Target {
	return Target{
		Cell: cell, Hosts: hosts, Text: peer, Bound: bound, Unit: "x",
		measure: func(r *Report) (Ratio, bool) {
			ours, theirs := r.Find(cell, hosts, Signalbox), r.Find(cell, hosts, peer)
			if ours == nil || theirs == nil {
				return Ratio{}, false
			}
			_, figure, _ := ours.Headline()
			return RatioOf(ours.Rounds(figure), theirs.Rounds(figure))
		},
	}
}

// overFloor requires one caller's acquire and release cycle to be nearly as fast as its parts: two proposals and two
// message round trips. Median run times are compared, because a brief disk stall would affect only one compared run.
func overFloor(hosts int) Target {
	return Target{
		Cell: "lock-1", Hosts: hosts, Text: "(two bare proposals + two echoes)", Bound: 1.3, AtMost: true, Unit: "x",
		measure: func(r *Report) (Ratio, bool) {
			cycle := r.figures("lock-1", hosts, Signalbox, MedianUS)
			proposal, echo := r.figures("proposal", hosts, Floor, MedianUS), r.figures("echo-1", hosts, Signalbox,
				MedianUS)
			floor := make(map[int]float64)
			for round, p := range proposal {
				if e, both := echo[round]; both {
					floor[round] = 2*p + 2*e
				}
			}
			return RatioOf(cycle, floor)
		},
	}
}

// overEcho requires a relaxed read to be about as fast as an empty request.
func overEcho(hosts int) Target {
	each := func(r *report.Report) float64 { return 1 / PerSecond(r) } // all callers together
	return Target{
		Cell: "read-relaxed-64", Hosts: hosts, Text: "the time of an echo", Bound: 1.5, AtMost: true, Unit: "x",
		measure: func(r *Report) (Ratio, bool) {
			return RatioOf(r.figures("read-relaxed-64", hosts, Signalbox, each),
				r.figures("echo-64", hosts, Signalbox, each))
		},
	}
}

// overDoor requires a lock and unlock over HTTP to take little longer than two empty HTTP requests.
func overDoor(cell, floor string) Target {
	return Target{
		Cell: cell, Hosts: 1, Text: "the time of two requests that ask nothing", Bound: 1.5, AtMost: true, Unit: "x",
		measure: func(r *Report) (Ratio, bool) {
			return RatioOf(r.figures(cell, 1, Signalbox, func(r *report.Report) float64 { return 1 / PerSecond(r) }),
				r.figures(floor, 1, Signalbox, func(r *report.Report) float64 { return 2 / PerSecond(r) }))
		},
	}
}

// figures returns a figure for every round of a measurement; nil if none.
func (r *Report) figures(cell string, hosts int, contestant string, f Figure) map[int]float64 {
	m := r.Find(cell, hosts, contestant)
	if m == nil {
		return nil
	}
	return m.Rounds(f)
}

// within requires a Signalbox figure to be below a bound.
func within(cell string, hosts int, text string, bound float64, unit string, figure Figure) Target {
	return Target{
		Cell: cell, Hosts: hosts, Text: text, Bound: bound, AtMost: true, Unit: unit,
		measure: func(r *Report) (Ratio, bool) {
			rounds := r.figures(cell, hosts, Signalbox, figure)
			s := SpreadOf(values(rounds))
			return Ratio{s.Median, s.Min, s.Max}, len(rounds) > 0
		},
	}
}

// Verdict is the outcome for a target.
type Verdict struct {
	Cell  string  `json:"cell"`
	Hosts int     `json:"hosts"`
	Text  string  `json:"text"`
	Bound float64 `json:"bound"`
	// AtMost is set if the bound is a maximum.
	AtMost bool   `json:"at_most"`
	Unit   string `json:"unit"`
	// Reached is absent if the value was not measured.
	Reached *Ratio `json:"reached,omitempty"`
	Met     bool   `json:"met"`
}

// judge compares every target with the measured medians.
func (r *Report) judge(targets []Target) []Verdict {
	verdicts := make([]Verdict, 0, len(targets))
	for _, t := range targets {
		v := Verdict{Cell: t.Cell, Hosts: t.Hosts, Text: t.Text, Bound: t.Bound, AtMost: t.AtMost, Unit: t.Unit}
		if value, ok := t.measure(r); ok {
			v.Reached = &value
			v.Met = value.OfMedians >= t.Bound
			if t.AtMost {
				v.Met = value.OfMedians <= t.Bound
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// Outcome is the verdict in words.
func (v Verdict) Outcome() string {
	switch {
	case v.Reached == nil:
		return "not measured"
	case v.Met:
		return "met"
	}
	return "not met"
}

// Want is the target in words.
func (v Verdict) Want() string {
	sense := "at least"
	if v.AtMost {
		sense = "at most"
	}
	return fmt.Sprintf("%s %s %s", sense, number(v.Bound)+unitOf(v.Unit), v.Text)
}
