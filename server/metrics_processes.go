package server

import (
	"fmt"

	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard/process"
)

// processStill is the number of milliseconds after which a waiting round counts as stalled: all rounds wait briefly.
// A round that is late, or that no present member can end, counts as stalled immediately.
const processStill = 1000

// processWriter writes process counts and states, and stalled rounds.
type processWriter struct{ objectWriter }

func (pw *processWriter) write() {
	for _, r := range pw.host.set.All() {
		pw.counts(r)
		pw.inboxes(r)
		if r.Leads() {
			pw.walk(r)
		}
	}
}

// counts writes process events, as applied by the host's replica of the shard.
func (pw *processWriter) counts(r *replica.Replica) {
	c := process.CountsOf(r.Machine)
	fmt.Fprintf(pw.to, "signalbox_process_epochs_total{shard=\"%d\"} %d\n", r.ID, c.Epochs)
	for _, round := range []struct {
		outcome string
		n       uint64
	}{{"completed", c.Completed}, {"cancelled", c.Cancelled}, {"failed", c.Failed}} {
		fmt.Fprintf(pw.to, "signalbox_process_rounds_total{shard=\"%d\",outcome=%q} %d\n", r.ID, round.outcome, round.n)
	}
	fmt.Fprintf(pw.to, "signalbox_process_evictions_total{shard=\"%[1]d\"} %[2]d\n"+
		"signalbox_process_reply_timeouts_total{shard=\"%[1]d\"} %[3]d\n", r.ID, c.Kicked, c.Late)
}

// inboxes writes the host's pushes.
func (pw *processWriter) inboxes(r *replica.Replica) {
	c := r.Inboxes.Counts()
	fmt.Fprintf(pw.to, "signalbox_inboxes_open{shard=\"%[1]d\"} %[2]d\n"+
		"signalbox_inbox_items_total{shard=\"%[1]d\"} %[3]d\n"+
		"signalbox_inbox_bytes_total{shard=\"%[1]d\"} %[4]d\n"+
		"signalbox_inbox_backpressure_total{shard=\"%[1]d\"} %[5]d\n", r.ID, r.Inboxes.Len(), c.Items, c.Bytes, c.Held)
}

// walk writes the states of a shard's processes, on the leader.
func (pw *processWriter) walk(r *replica.Replica) {
	var states [kind.Phases]int
	var longest [kind.Phases]uint64
	members, unread := 0, 0
	walkObjects(&pw.objectWriter, r, process.Walk, func(v *process.Status) bool {
		states[v.State]++
		longest[v.State] = max(longest[v.State], v.Now-min(v.Now, v.Since))
		members += v.Members
		unread += v.Requests
		return len(v.Reasons) > 0 && v.Members > 0
	}, pw.still)
	for state, n := range states {
		fmt.Fprintf(pw.to, "signalbox_processes{shard=\"%d\",state=%q} %d\n", r.ID, kind.Phase(state), n)
	}
	for _, state := range []kind.Phase{kind.Preparing, kind.Running} {
		fmt.Fprintf(pw.to, "signalbox_process_oldest_state_seconds{shard=\"%d\",state=%q} %g\n", r.ID, state,
			float64(longest[state])/1000)
	}
	fmt.Fprintf(pw.to, "signalbox_process_members{shard=\"%[1]d\"} %[2]d\n"+
		"signalbox_process_unacknowledged_requests{shard=\"%[1]d\"} %[3]d\n", r.ID, members, unread)
}

// still writes where a round is stalled, for how long, and the first member the round waits for.
func (pw *processWriter) still(v *process.Status) {
	node, ok := pw.node(v.Node)
	if !ok {
		return
	}
	seen := make(map[string]bool) // several exchanges that wait for one member are one series, with the longest time
	for i := range v.Reasons {
		re := &v.Reasons[i]
		waited := v.Now - min(v.Now, re.Since)
		if re.Code == kind.ReasonOpening || !re.Late && !re.Blocked && waited < processStill {
			continue
		}
		reason, member := re.Code, re.From.Name
		if re.Late {
			reason = "overdue"
		}
		if len(re.Members) > 0 {
			member = re.Members[0].Name
		}
		pw.add(seen, fmt.Sprintf("signalbox_process_stalled_seconds{node=%s,process=%s,member=%s,reason=%q}", node,
			label(v.Name), label(member), reason), waited)
	}
}
