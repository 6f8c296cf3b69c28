package governor

import (
	"fmt"

	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// ruleAway reports cluster hosts that do not take part fully, for a reason no rule repairs. Waiting until the whole
// cluster is healthy includes such hosts. A cordon is not reported, because it takes nothing away.
func ruleAway(v View) (f finding) {
	for _, h := range v.State.Hosts() {
		seen := v.Seen.host(h.ID)
		switch {
		case !h.Living():
		case !h.Wanted():
			f.away(h, CodeAway, absence(h))
		case !h.Online() || seen == nil || !v.Seen.live(h.ID): // other rules report the host
		case seen.Full:
			f.away(h, CodeFull, "the disk is nearly full, so the host accepts no more log entries")
		case seen.FreshFor == 0:
			f.away(h, CodeFresh, "the host does not confirm being up to date")
		}
	}
	return f
}

// away reports a host. If the host's target is the reason, the reason holds since the target was set.
func (f *finding) away(h *hosts.Host, code plan.Code, text string) {
	r := plan.Reason{Code: code, Subjects: []plan.Subject{hostSubject(h.ID)},
		Text: fmt.Sprintf("host %s: %s", h.Name, text)}
	if code == CodeAway {
		r.Since = h.Target.Since
	}
	if h.Target.Reason.Failed() {
		r.Until = h.ReturnAfter // a repeatedly failing host is kept offline longer each time
	}
	f.Reasons = append(f.Reasons, r)
}

// absence says why a host should not be online, and what ends the absence.
func absence(h *hosts.Host) string {
	switch {
	case h.Target.Reason == hosts.ReasonJoined:
		return "joined, but not started since"
	case h.Target.Reason == hosts.ReasonDrained && !h.Reached():
		return "drain in progress"
	case h.Target.Reason == hosts.ReasonDrained:
		return "drained until the host is started again or undrained"
	case h.Target.Reason.Failed():
		return fmt.Sprintf("considered failed (%s) until the host returns or is expelled", h.Target.Reason)
	}
	return "stopped until the host is started again or expelled"
}
