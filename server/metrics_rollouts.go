package server

import (
	"fmt"
	"io"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

const (
	// maxRolloutSeries bounds how many series of single rollouts that stand still are written.
	maxRolloutSeries = 1000
	// maxRolloutChecks bounds how many rollouts are looked at for a page.
	maxRolloutChecks = 20_000
)

// rolloutWriter writes what rollouts have done, how they are, and where one stands still.
type rolloutWriter struct {
	host   *Host
	to     io.Writer
	series int // how many more there may be
	checks int // how many more rollouts may be looked at
}

func newRolloutWriter(h *Host, to io.Writer) *rolloutWriter {
	return &rolloutWriter{host: h, to: to, series: maxRolloutSeries, checks: maxRolloutChecks}
}

func (rw *rolloutWriter) write() {
	for _, r := range rw.host.replicas {
		rw.counts(r)
		if r.Leads() {
			rw.walk(r)
		}
	}
}

// counts writes what has happened, as this host's copy of the shard has carried it out.
func (rw *rolloutWriter) counts(r *replica.Replica) {
	c := r.Machine.RolloutCounts()
	fmt.Fprintf(rw.to, "signalbox_rollout_versions_total{shard=\"%d\"} %d\n", r.ID, c.Versions)
	for cause, n := range c.Targets {
		if cause > 0 {
			fmt.Fprintf(rw.to, "signalbox_rollout_targets_total{shard=\"%d\",cause=\"%v\"} %d\n", r.ID,
				protocol.TargetCause(cause), n)
		}
	}
	for reason, n := range c.Halts {
		if reason > 0 {
			fmt.Fprintf(rw.to, "signalbox_rollout_halts_total{shard=\"%d\",reason=\"%v\"} %d\n", r.ID,
				protocol.HaltReason(reason), n)
		}
	}
}

// walk writes how the rollouts of a shard are, at its leader.
func (rw *rolloutWriter) walk(r *replica.Replica) {
	var phases [protocol.PhaseHalted + 1]int
	var leaders, followers, sources int
	at, over := shard.Cursor(0), false
	for !over && rw.checks > 0 {
		var still []shard.RolloutView
		at, over = r.Machine.WalkRollouts(at, r.EstimatedTime(), func(v *shard.RolloutView) {
			rw.checks--
			phases[v.Phase]++
			leaders += v.Leaders
			followers += v.Instances - v.Leaders
			sources += v.Sources
			if len(v.Still) > 0 {
				still = append(still, *v)
			}
		})
		for i := range still {
			rw.still(&still[i])
		}
	}
	for phase, n := range phases {
		fmt.Fprintf(rw.to, "signalbox_rollouts{shard=\"%d\",phase=\"%v\"} %d\n", r.ID, protocol.RolloutPhase(phase), n)
	}
	fmt.Fprintf(rw.to, "signalbox_rollout_instances{shard=\"%[1]d\",role=\"leader\"} %[2]d\n"+
		"signalbox_rollout_instances{shard=\"%[1]d\",role=\"follower\"} %[3]d\n"+
		"signalbox_rollout_instances{shard=\"%[1]d\",role=\"source\"} %[4]d\n", r.ID, leaders, followers, sources)
}

// still writes where a rollout stands still, and for how long as far as that is known.
func (rw *rolloutWriter) still(v *shard.RolloutView) {
	node, ok := rw.host.meta.Machine.NodeByID(v.Node)
	if !ok {
		return // it was dropped, and is being cleared
	}
	seen := make(map[string]bool)
	for i := range v.Still {
		re := &v.Still[i]
		labels := fmt.Sprintf("{node=%s,rollout=%s,location=%s,reason=%q}", label(node.Path), label(v.Name),
			label(re.Location), string(re.Code))
		if seen[labels] || rw.series <= 0 {
			continue // several gates of a location are one series
		}
		seen[labels] = true
		rw.series--
		seconds := 0.0
		if re.Since != 0 && v.Now > re.Since {
			seconds = float64(v.Now-re.Since) / 1000
		}
		fmt.Fprintf(rw.to, "signalbox_rollout_still_seconds%s %g\n", labels, seconds)
	}
}
