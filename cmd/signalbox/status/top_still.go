package status

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/adminclient"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// stillRollout is a stalled rollout location, or the whole rollout if it has no locations.
type stillRollout struct {
	Node     string
	Name     string
	Location string
	Reason   string
	Seconds  float64
}

// stillProcess is a waiting process round. Member is the first member the round waits for, empty if missing.
type stillProcess struct {
	Node    string
	Name    string
	Member  string
	Reason  string
	Seconds float64
}

func stillRollouts(hosts []adminclient.Reading, most int) []stillRollout {
	still := []stillRollout{}
	for _, s := range longestStill(hosts, most, "signalbox_rollout_stalled_seconds", "rollout", "location") {
		l := s.Labels
		still = append(still, stillRollout{l["node"], l["rollout"], l["location"], l["reason"], s.Value})
	}
	return still
}

func stillProcesses(hosts []adminclient.Reading, most int) []stillProcess {
	still := []stillProcess{}
	for _, s := range longestStill(hosts, most, "signalbox_process_stalled_seconds", "process", "member") {
		l := s.Labels
		still = append(still, stillProcess{l["node"], l["process"], l["member"], l["reason"], s.Value})
	}
	return still
}

// longestStill returns the series about stalled objects from the leading hosts' pages: longest first, up to a limit.
// Equal durations are sorted by label.
func longestStill(hosts []adminclient.Reading, most int, series string, labels ...string) []adminclient.Sample {
	var still []adminclient.Sample
	for i := range hosts {
		still = append(still, hosts[i].Metrics[series]...)
	}
	labels = slices.Concat([]string{"node"}, labels, []string{"reason"})
	slices.SortFunc(still, func(a, b adminclient.Sample) int {
		order := cmp.Compare(b.Value, a.Value)
		for _, l := range labels {
			order = cmp.Or(order, strings.Compare(a.Labels[l], b.Labels[l]))
		}
		return order
	})
	return still[:min(most, len(still))]
}

// writeStill writes stalled rollouts and processes.
func (s *Sample) writeStill(line func(cells ...any)) {
	if len(s.StillRollouts) > 0 {
		line()
		line("ROLLOUT", "NODE", "LOCATION", "STANDS STILL", "FOR")
	}
	for _, r := range s.StillRollouts {
		line(stillCells(r.Name, r.Node, r.Location, r.Reason, r.Seconds)...)
	}
	if len(s.StillProcesses) > 0 {
		line()
		line("PROCESS", "NODE", "WAITS FOR", "STANDS STILL", "FOR")
	}
	for _, p := range s.StillProcesses {
		line(stillCells(p.Name, p.Node, p.Member, p.Reason, p.Seconds)...)
	}
}

func stillCells(name, node, of, reason string, seconds float64) []any {
	return []any{cli.Safe(name), cli.Safe(node), cli.Cell(of), cli.Cell(reason), millisText(1000 * seconds)}
}
