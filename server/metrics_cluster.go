package server

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/server/health/overview"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// writeCluster writes the cluster's host states if the local host is the governor, and otherwise only that another host
// governs.
func (h *Host) writeCluster(w io.Writer) {
	v, err := h.view()
	if err != nil {
		fmt.Fprintln(w, "signalbox_governor 0")
		return
	}
	fmt.Fprintln(w, "signalbox_governor 1")
	failing := 0
	steps := v.Plan.Steps()
	for i := range steps {
		if steps[i].Failures > 0 {
			failing++
		}
	}
	fmt.Fprintf(w, "signalbox_governor_open_steps %d\n", len(steps))
	fmt.Fprintf(w, "signalbox_governor_failing_steps %d\n", failing)
	writeSlotMoves(w, v.State)
	c := overview.Observed(v, h.leaderOf)
	writeHostStates(w, &c)
	writeHostReplicas(w, &c)
	writeHostSpeeds(w, &c)
	for _, r := range c.Redundancies() {
		labels := fmt.Sprintf(`{shard="%d"}`, r.Shard)
		fmt.Fprintf(w, "signalbox_shard_voters_desired%s %d\n", labels, r.Wanted)
		fmt.Fprintf(w, "signalbox_shard_voters%s %d\n", labels, r.Voters)
		fmt.Fprintf(w, "signalbox_shard_voters_live%s %d\n", labels, r.Live)
		fmt.Fprintf(w, "signalbox_shard_failure_tolerance%s %d\n", labels, r.Tolerated)
	}
}

// writeSlotMoves counts the slots still to move by the weights, and the slots kept after failed attempts.
func writeSlotMoves(w io.Writer, r *hosts.Records) {
	pending, failing := 0, 0
	for _, p := range governor.Planned(r) {
		pending += p.Slots
	}
	for _, o := range r.SlotOrders() {
		if o.To != 0 && o.Failures >= hosts.SlotAttempts {
			failing++
		}
	}
	fmt.Fprintf(w, "signalbox_rebalance_slots_pending %d\n", pending)
	fmt.Fprintf(w, "signalbox_slot_moves_failing %d\n", failing)
}

// writeHostStates counts the hosts by state.
func writeHostStates(w io.Writer, c *overview.Cluster) {
	counts := make(map[protocol.HostState]int)
	for _, x := range c.Records.Hosts() {
		counts[x.Current.Variant]++
	}
	for _, state := range []protocol.HostState{protocol.HostOnline, protocol.HostOffline} {
		fmt.Fprintf(w, "signalbox_hosts{state=%q} %d\n", strings.ToLower(state.String()), counts[state])
	}
}

// writeHostReplicas counts the data shard members on every living host. The governor balances these numbers if shards
// are on a subset of the hosts.
func writeHostReplicas(w io.Writer, c *overview.Cluster) {
	counts := make(map[shard.HostID]int)
	for _, s := range c.Records.Shards() {
		for i := range s.Replicas {
			if p := &s.Replicas[i]; s.ID != hosts.Meta && p.Member() {
				counts[p.Host]++
			}
		}
	}
	for _, x := range c.Records.Hosts() {
		if x.Living() {
			fmt.Fprintf(w, "signalbox_host_replicas{host=%q} %d\n", x.Name, counts[x.ID])
		}
	}
}

// writeHostSpeeds writes which hosts are slow, and how fast all hosts are, as far as they have measured themselves.
func writeHostSpeeds(w io.Writer, c *overview.Cluster) {
	for _, x := range c.Hosts() {
		if x.Current.State != protocol.HostOnline {
			continue
		}
		slow := 0
		if x.SlowFor > 0 {
			slow = 1
		}
		fmt.Fprintf(w, "signalbox_host_slow{host=%q} %d\n", x.Name, slow)
		fmt.Fprintf(w, "signalbox_host_stalls{host=%q} %d\n", x.Name, x.Stalls)
		for figure, d := range map[string]time.Duration{"sync": x.SyncTime, "timer_delay": x.TimerLag,
			"round_trip": x.RoundTrip} {
			fmt.Fprintf(w, "signalbox_host_speed_seconds{host=%q,figure=%q} %g\n", x.Name, figure, d.Seconds())
		}
	}
}

// writeHealthIssues writes how many health issues of each kind this host has, including the kinds without one: an alert
// ends when the series is 0.
func (h *Host) writeHealthIssues(w io.Writer) {
	counts := make(map[health.Kind]int)
	for _, c := range h.issues.Read(h.config.Clock()) {
		counts[c.Kind] += 1 + c.More
	}
	for _, row := range health.Kinds {
		fmt.Fprintf(w, "signalbox_health_issues{kind=%q,severity=\"%v\"} %d\n", string(row.Kind), row.Severity,
			counts[row.Kind])
	}
}
