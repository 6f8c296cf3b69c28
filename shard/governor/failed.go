package governor

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// ruleFailed sets the target of silent or stuck hosts to Offline.
func ruleFailed(v View) (f finding) {
	for _, h := range v.State.Hosts() {
		seen := v.Seen.host(h.ID)
		if why := failure(v, h); why != 0 {
			text := "no contact with the host for " + span(seen.SilentFor)
			if why == hosts.ReasonStuck {
				text = "the host answers, but has accepted no log entry for " + span(seen.StuckFor)
			}
			f.propose(v, KindFail, Action{Host: h.ID, Epoch: h.Target.Epoch, Reason: why, Text: text})
		} else if seen != nil && h.Wanted() && h.ID != v.Seen.Self {
			f.failing(v, h, seen)
		}
	}
	return f
}

// failing reports whether an online host shows signs of a failure, and when the host is considered failed.
func (f *finding) failing(v View, h *hosts.Host, seen *HostObservation) {
	after := field.MillisOf(v.State.Policy().OfflineAfter)
	r := plan.Reason{Code: CodeSilent, Subjects: []plan.Subject{hostSubject(h.ID)}}
	so := seen.SilentFor
	switch {
	case !seen.Tried || seen.Unheard && v.Seen.mayLive(h.ID):
		r.Text = fmt.Sprintf("the governor has had no contact with host %s yet", h.Name)
	case !v.Seen.live(h.ID):
		r.Text = fmt.Sprintf("no contact with host %s; considered failed after %s", h.Name, span(after))
	case seen.StuckFor >= liveMillis:
		so = seen.StuckFor
		r.Text = fmt.Sprintf("host %s answers, but accepts no log entry; considered failed after %s", h.Name,
			span(after))
	default:
		return
	}
	r.Since = v.Now - min(so, v.Now)
	if seen.Tried {
		r.Until = max(v.Now+after-min(so, after), h.Target.Since+after)
	}
	f.Reasons = append(f.Reasons, r)
}

// span formats milliseconds as seconds, for people.
func span(millis uint64) string {
	if millis < 10_000 {
		return fmt.Sprintf("%.1f s", float64(millis)/1000)
	}
	return fmt.Sprintf("%d s", millis/1000)
}

// failure returns why a host that should be online counts as failed, or 0. It judges only by observations made since
// the host's target changed, and since the host got or lost its meta shard replica: without that replica a host sends
// no Raft traffic, and contact means answering calls.
func failure(v View, h *hosts.Host) hosts.Reason {
	after, seen := field.MillisOf(v.State.Policy().OfflineAfter), v.Seen.host(h.ID)
	since := h.Target.Since
	if p := v.State.Shard(hosts.Meta).On(h.ID); p != nil {
		since = max(since, p.Since)
	}
	if !h.Wanted() || h.ID == v.Seen.Self || seen == nil || !seen.Tried || !clock.Over(since, after, v.Now) {
		return 0
	}
	switch {
	case seen.SilentFor >= after:
		return hosts.ReasonSilent
	case seen.StuckFor >= after:
		return hosts.ReasonStuck
	}
	return 0
}

// ruleOnline brings hosts with the target Online online, once they have confirmed that they are up to date since the
// target was set.
func ruleOnline(v View) (f finding) {
	for _, h := range v.State.Hosts() {
		if !h.Wanted() || h.Reached() {
			continue
		}
		if r := notFresh(v, h); r != nil {
			f.because(r)
			continue
		}
		f.propose(v, KindReach, Action{Host: h.ID, Variant: protocol.HostOnline, Epoch: h.Target.Epoch})
	}
	return f
}

// notFresh returns why a host cannot be online yet: it serves nothing before a meta shard barrier that began after its
// target was decided.
func notFresh(v View, h *hosts.Host) *plan.Reason {
	r := &plan.Reason{Code: CodeFresh, Subjects: []plan.Subject{hostSubject(h.ID)}, Since: h.Target.Since,
		Text: fmt.Sprintf("host %s is online once the host has confirmed being up to date", h.Name)}
	seen := v.Seen.host(h.ID)
	if seen == nil || !v.Seen.live(h.ID) || seen.FreshFor == 0 {
		return r
	}
	if r.Until = h.Target.Since + seen.Barrier; v.Now < r.Until {
		return r
	}
	return nil
}

// ruleExpelled makes expulsions final, once the hosts have no replicas, and once the grace period has passed by a
// single leader's clock, so no session state known to the expelled host is in force any more.
func ruleExpelled(v View) (f finding) {
	for _, h := range v.State.Hosts() {
		if h.Living() || h.Reached() {
			continue
		}
		r := plan.Reason{Code: CodeExpelling, Subjects: []plan.Subject{hostSubject(h.ID)}, Since: h.Target.Since,
			Text: fmt.Sprintf("host %s is expelled once no replica is left on the host", h.Name)}
		if h.Bare != 0 {
			until := max(h.Bare, v.Seen.Began) + h.Grace + h.Grace/64 + 1
			if v.Now >= until {
				f.propose(v, KindReach, Action{Host: h.ID, Variant: protocol.HostExpelled, Epoch: h.Target.Epoch})
				continue
			}
			r.Until = until
			r.Text = fmt.Sprintf("host %s is expelled once the grace period has passed", h.Name)
		}
		f.Reasons = append(f.Reasons, r)
	}
	return f
}
