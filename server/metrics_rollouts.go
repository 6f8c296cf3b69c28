package server

import (
	"fmt"

	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard/rollout"
)

// rolloutWriter writes rollout counts and states, and stalled rollouts.
type rolloutWriter struct{ objectWriter }

func (rw *rolloutWriter) write() {
	for _, r := range rw.host.set.All() {
		rw.counts(r)
		if r.Leads() {
			rw.walk(r)
		}
	}
}

// counts writes rollout events, as applied by the host's replica of the shard.
func (rw *rolloutWriter) counts(r *replica.Replica) {
	c := rollout.CountsOf(r.Machine)
	fmt.Fprintf(rw.to, "signalbox_rollout_versions_total{shard=\"%d\"} %d\n", r.ID, c.Versions)
	for cause, n := range c.Targets {
		if cause > 0 {
			fmt.Fprintf(rw.to, "signalbox_rollout_targets_total{shard=\"%d\",cause=%q} %d\n", r.ID,
				metrics.Word(kind.Cause(cause)), n)
		}
	}
	for reason, n := range c.Halts {
		if reason > 0 {
			fmt.Fprintf(rw.to, "signalbox_rollout_halts_total{shard=\"%d\",reason=%q} %d\n", r.ID,
				metrics.Word(kind.HaltReason(reason)), n)
		}
	}
}

// walk writes the states of a shard's rollouts, on the leader.
func (rw *rolloutWriter) walk(r *replica.Replica) {
	var phases [kind.Halted + 1]int
	var leaders, followers, sources int
	walkObjects(&rw.objectWriter, r, rollout.Walk, func(v *rollout.Status) bool {
		phases[v.Phase]++
		leaders += v.Leaders
		followers += v.Instances - v.Leaders
		sources += v.Sources
		return len(v.Still) > 0
	}, rw.still)
	for phase, n := range phases {
		fmt.Fprintf(rw.to, "signalbox_rollouts{shard=\"%d\",phase=%q} %d\n", r.ID, metrics.Word(kind.Phase(phase)), n)
	}
	fmt.Fprintf(rw.to, "signalbox_rollout_instances{shard=\"%[1]d\",role=\"leader\"} %[2]d\n"+
		"signalbox_rollout_instances{shard=\"%[1]d\",role=\"follower\"} %[3]d\n"+
		"signalbox_rollout_instances{shard=\"%[1]d\",role=\"source\"} %[4]d\n", r.ID, leaders, followers, sources)
}

// still writes where a rollout is stalled, and for how long if known.
func (rw *rolloutWriter) still(v *rollout.Status) {
	node, ok := rw.node(v.Node)
	if !ok {
		return
	}
	seen := make(map[string]bool) // several gates at one location are one series
	for i := range v.Still {
		re := &v.Still[i]
		millis := uint64(0)
		if re.Since != 0 {
			millis = v.Now - min(v.Now, re.Since)
		}
		rw.add(seen, fmt.Sprintf("signalbox_rollout_stalled_seconds{node=%s,rollout=%s,location=%s,reason=%q}", node,
			label(v.Name), label(re.Location), string(re.Code)), millis)
	}
}
