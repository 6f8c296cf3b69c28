package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/pages"
)

// stillSample is a location of a rollout that does not move, or a whole rollout where it has no location.
type stillSample struct {
	Node     string  `json:"path"`
	Name     string  `json:"name"`
	Location string  `json:"location"`
	Reason   string  `json:"reason"`
	Seconds  float64 `json:"seconds"`
}

// stillRollouts are what does not move, by the pages of the hosts that lead: the longest first, and at most so many.
func stillRollouts(hosts []pages.Reading, most int) []stillSample {
	still := []stillSample{}
	for i := range hosts {
		for _, one := range hosts[i].Metrics["signalbox_rollout_still_seconds"] {
			l := one.Labels
			still = append(still, stillSample{l["node"], l["rollout"], l["location"], l["reason"], one.Value})
		}
	}
	slices.SortFunc(still, func(a, b stillSample) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), strings.Compare(a.Node, b.Node),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Location, b.Location),
			strings.Compare(a.Reason, b.Reason))
	})
	return still[:min(most, len(still))]
}

// writeStill writes what does not move, where there is anything.
func writeStill(still []stillSample, line func(cells ...any)) {
	if len(still) == 0 {
		return
	}
	line()
	line("ROLLOUT", "NODE", "LOCATION", "STANDS STILL", "FOR")
	for _, s := range still {
		line(cli.Safe(s.Name), cli.Safe(s.Node), cli.Cell(s.Location), cli.Cell(s.Reason), millisText(1000*s.Seconds))
	}
}
