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
			f.away(h, CodeFull, "its disk is nearly full, and it takes no more of any log")
		case seen.FreshFor == 0:
			f.away(h, CodeFresh, "it does not confirm that it is up to date")
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
		return "it has joined and was not started since"
	case h.Target.Reason == hosts.ReasonDrained && !h.Reached():
		return "it is being drained"
	case h.Target.Reason == hosts.ReasonDrained:
		return "it is drained, until it is started again or the drain is taken back"
	case h.Target.Reason.Failed():
		return fmt.Sprintf("it is taken for failed (%s), until it is back or expelled", h.Target.Reason)
	}
	return "it is stopped, until it is started again or expelled"
}
