package governor

import (
	"fmt"

	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// ruleAway reports the hosts of the cluster that do not take part fully, for a reason that no rule mends. A wait
// until the whole cluster is as it should be includes such hosts. A cordon is no reason, because a cordon takes
// nothing away.
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

// away reports a host. If the target of the host is the reason, the reason holds since the host has its target.
func (f *finding) away(h *hosts.Host, code plan.Code, text string) {
	r := plan.Reason{Code: code, Subjects: []plan.Subject{hostSubject(h.ID)},
		Text: fmt.Sprintf("host %s: %s", h.Name, text)}
	if code == CodeAway {
		r.Since = h.Target.Since
	}
	if h.Target.Reason.Failed() {
		r.Until = h.ReturnAfter // a host that fails again and again is kept offline for longer each time
	}
	f.Reasons = append(f.Reasons, r)
}

// absence says why a host is not to be online, and what ends the absence.
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
