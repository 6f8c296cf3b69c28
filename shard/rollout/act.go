package rollout

import (
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Audit is an audit entry for an action that was carried out.
type Audit struct {
	Number uint64 // grows by one with each act
	Since  uint64 // timestamp
	Wall   uint64 // Since as wall clock time
	kind.Action
}

// Act carries out an operator's command, and records author and reason.
func (r *Rollout) Act(at At, act kind.Action) Answer {
	if !codec.FitText(kind.MaxText, act.By.Author, act.By.Reason) {
		return refuse(protocol.StatusBadRequest, "author or reason is too long")
	}
	if len(act.Locations) > kind.MaxLocations {
		return refuse(protocol.StatusBadRequest, "a rollout has at most %d locations", kind.MaxLocations)
	}
	chosen, a := r.choose(act.Locations)
	if a.Status != protocol.StatusSuccess {
		return a
	}
	switch act.Kind {
	case kind.Pause:
		r.pause(at, &act)
	case kind.Resume:
		r.resume(at)
	case kind.Promote:
		a = r.promote(at, &act, chosen)
	case kind.Abort:
		r.abort(at, &act)
	case kind.Rollback:
		a = r.rollBack(at, &act, chosen)
	case kind.Bypass, kind.Unbypass:
		a = r.bypass(at, &act, chosen)
	case kind.Withdraw:
		a = r.withdraw(at, &act)
	case kind.Retry:
		r.retry(at, &act, chosen)
	default:
		a = refuse(protocol.StatusBadRequest, "the action is unknown")
	}
	if a.Status != protocol.StatusSuccess {
		return a
	}
	r.remember(at, act)
	r.run(at, true)
	return Answer{Seq: act.Seq, Generation: r.generation}
}

// choose finds the locations an action names, in location order.
func (r *Rollout) choose(list []string) ([]*Location, Answer) {
	if len(list) == 0 {
		return r.locations, Answer{}
	}
	var chosen []*Location
	for _, l := range r.locations {
		if slices.Contains(list, l.Spec.Name) {
			chosen = append(chosen, l)
		}
	}
	for _, name := range list {
		if r.Find(name) == nil {
			return nil, refuse(protocol.StatusNotFound, "location %q does not exist; existing locations: %s", name,
				strings.Join(r.names(), ", "))
		}
	}
	return chosen, Answer{}
}

// remember records an audit entry.
func (r *Rollout) remember(at At, act kind.Action) {
	if len(r.audit) >= MaxAudit {
		r.audit = append(r.audit[:0], r.audit[1:]...)
	}
	r.lastAct++
	act.Locations = slices.Clone(act.Locations)
	r.audit = append(r.audit, Audit{Number: r.lastAct, Since: clock.Moment(at.Now), Wall: at.Wall, Action: act})
	r.changeHead(at)
}

func (r *Rollout) pause(at At, act *kind.Action) {
	if r.paused.Since == 0 {
		r.paused = Stop{Since: clock.Moment(at.Now), By: act.By.Author, Why: act.By.Reason}
	}
}

// resume ends a pause and a halt. Deadlines count from now, and the reelection counters restart.
func (r *Rollout) resume(at At) {
	if !r.stopped() {
		return
	}
	r.paused, r.halted = Stop{}, Stop{}
	r.resumed = clock.Moment(at.Now)
	for _, l := range r.locations {
		if l.Reelections != 0 || l.Stalled {
			l.Reelections, l.Stalled = 0, false
			r.changeLocation(at, l)
		}
	}
}

// promote assigns a version to locations at once, without regard to delays, gates and instances. Without a seq each
// location gets its next version; if a location has no next version, its target counts as reached.
func (r *Rollout) promote(at At, act *kind.Action, chosen []*Location) Answer {
	if act.Seq != 0 {
		if a := r.usable(act.Seq); a.Status != protocol.StatusSuccess {
			return a
		}
		if l := chosen[0]; len(act.Locations) == 1 && l.present() > act.Seq {
			return refuse(protocol.StatusPreconditionFailed, "location %s is already at version %d; use rollback "+
				"to go back", l.Spec.Name, l.present())
		}
	}
	for _, l := range chosen {
		seq := act.Seq
		if seq == 0 {
			seq = max(r.upcoming(l), l.present())
		}
		v := r.Version(seq)
		if v == nil || v.Withdrawn || seq < l.present() || l.Bypassed && len(act.Locations) == 0 {
			continue
		}
		switch t := l.Target(); {
		case seq > l.present() || t.Abandoned != 0:
			r.assign(at, l, seq, kind.CausePromote, act.By.Reason)
		case t.Reached == 0:
			t.Waived = true
			r.setReached(at, l)
		}
	}
	return Answer{}
}

// upcoming is the newest version a location could get if no delays were left, 0 for none.
func (r *Rollout) upcoming(l *Location) uint64 {
	const end = 1 << 62
	return r.newest(l, end)
}

// usable refuses a version that is not kept or was withdrawn.
func (r *Rollout) usable(seq uint64) Answer {
	v := r.Version(seq)
	switch {
	case v == nil && len(r.versions) > 0:
		return refuse(protocol.StatusNotFound, "version %d is not kept; the oldest is %d", seq, r.versions[0].Seq)
	case v == nil:
		return refuse(protocol.StatusNotFound, "no version exists yet")
	case v.Withdrawn:
		return refuse(protocol.StatusPreconditionFailed, "version %d was withdrawn", seq)
	}
	return Answer{}
}

// abort abandons every unreached target, and halts. Targets do not change: only a rollback goes back.
func (r *Rollout) abort(at At, act *kind.Action) {
	for _, l := range r.locations {
		if l.Back != 0 {
			l.Back = 0
			r.changeLocation(at, l)
		}
		if t := l.Target(); t != nil && t.Reached == 0 && t.Abandoned == 0 {
			r.abandon(at, l, act.By.Reason)
		}
	}
	r.halt(at, Stop{Reason: kind.HaltedAborted, By: act.By.Author, Why: act.By.Reason})
}

// rollBack takes locations back to a version. The rollout then does not assign them any newer version that exists at
// the time of the rollback.
func (r *Rollout) rollBack(at At, act *kind.Action, chosen []*Location) Answer {
	if a := r.usable(act.Seq); a.Status != protocol.StatusSuccess {
		return a
	}
	first := true
	for _, l := range chosen {
		l.Bar = bar{Above: act.Seq, UpTo: r.lastSeq}
		l.Back = 0
		r.changeLocation(at, l)
		t := l.Target()
		if t == nil || t.Seq <= act.Seq {
			continue
		}
		if t.Abandoned == 0 {
			r.abandon(at, l, act.By.Reason)
		}
		if act.Fast || first {
			r.assign(at, l, act.Seq, kind.CauseRollback, act.By.Reason)
		} else {
			l.Back = act.Seq
		}
		first = false
	}
	return Answer{}
}

// bypass takes locations out of the order, or back into the order. The locations keep their targets.
func (r *Rollout) bypass(at At, act *kind.Action, chosen []*Location) Answer {
	if len(act.Locations) == 0 {
		return refuse(protocol.StatusBadRequest, "name the locations")
	}
	for _, l := range chosen {
		if bypassed := act.Kind == kind.Bypass; l.Bypassed != bypassed {
			l.Bypassed, l.Stalled = bypassed, false
			r.changeLocation(at, l)
		}
	}
	return Answer{}
}

// withdraw marks a version as bad: it is no longer assigned to any location, and locations that have not reached it get
// a different version.
func (r *Rollout) withdraw(at At, act *kind.Action) Answer {
	v := r.Version(act.Seq)
	if v == nil {
		return refuse(protocol.StatusNotFound, "version %d is not kept", act.Seq)
	}
	if v.Withdrawn {
		return Answer{}
	}
	v.Withdrawn = true
	r.changeVersion(at, v)
	for _, l := range r.locations {
		if l.Back == act.Seq {
			l.Back = 0
			r.changeLocation(at, l)
		}
		if t := l.Target(); t != nil && t.Seq == act.Seq && t.Reached == 0 && t.Abandoned == 0 {
			r.abandon(at, l, act.By.Reason)
		}
	}
	return Answer{}
}

// retry assigns the same version again to locations in trouble, and ends a halt.
func (r *Rollout) retry(at At, act *kind.Action, chosen []*Location) {
	for _, l := range chosen {
		t := l.Target()
		trouble := t != nil && t.Reached == 0 && l.Back == 0 && (t.Abandoned != 0 || l.Stalled || l.Counts.Failing > 0)
		if v := r.Version(l.present()); !trouble || v == nil || v.Withdrawn {
			continue
		}
		l.Reelections = 0
		r.assign(at, l, t.Seq, kind.CauseRetry, act.By.Reason)
	}
	if r.halted.Since != 0 {
		r.halted = Stop{}
		r.resumed = clock.Moment(at.Now)
		for _, l := range chosen {
			l.Reelections = 0
			r.changeLocation(at, l)
		}
	}
}
