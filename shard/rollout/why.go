package rollout

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Reason is a reason why a rollout is stalled.
type Reason struct {
	Code     string
	Location string // "" for the whole rollout
	Blocked  bool
	Seq      uint64 // the version the reason concerns
	// Waiting is how many of Of leaders have not reached the target; Named are the first of them.
	Waiting, Of int
	Named       []Laggard
	Gate        Gate
	For         uint64 // milliseconds since the gate was judged
	Since       uint64 // timestamp, 0 if unknown
	Wall        uint64 // Since in wall clock time, 0 if unknown: shard time stops if there are no entries or no leader
	Until       uint64 // shard time at which time alone ends the reason, 0 for never
	By, Text    string
}

// stands reports whether an operator may have to act: neither time nor the present instances can end the reason, or
// neither has for too long.
func (re *Reason) stands() bool {
	return re.Blocked || re.Code == kind.ReasonHalted || re.Code == kind.ReasonPaused || re.Code == kind.ReasonStuck
}

// Laggard is an instance the rollout waits for.
type Laggard struct {
	Name       string
	Generation uint64 // the target's generation
	Heard      bool   // the instance has reported the generation
	Status     kind.Status
	Code       string
	Attempts   uint64
	For        uint64 // milliseconds in the status
	Foreign    bool   // the instance uses an unknown version
	ID         uint64 // instance ID
	// Session is the instance's session, set by Why's caller. If the caller knows that the session is disconnected, it
	// also sets Detached, and the time in milliseconds.
	Session     uint64
	Detached    bool
	DetachedFor uint64
}

// String formats the laggard for people.
func (la Laggard) String() string {
	detached := ""
	if la.Detached {
		detached = fmt.Sprintf(", its session detached for %d s", la.DetachedFor/1000)
	}
	if !la.Heard {
		return fmt.Sprintf("%s (has not heard of generation %d%s)", la.Name, la.Generation, detached)
	}
	s := fmt.Sprintf("%s (%v", la.Name, la.Status)
	if la.Code != "" {
		s += " " + la.Code
	}
	if la.Foreign {
		s += ", foreign version"
	}
	return fmt.Sprintf("%s %d s, attempt %d%s)", s, la.For/1000, la.Attempts, detached)
}

// String formats the reason for people.
func (re Reason) String() string {
	switch re.Code {
	case kind.ReasonHalted, kind.ReasonPaused:
		s := string(re.Code)
		if re.Text != "" {
			s += ": " + re.Text
		}
		if re.Location != "" {
			s += " in " + re.Location
		}
		if re.By != "" {
			s += " by " + re.By
		}
		return s
	case kind.ReasonLeaders:
		s := fmt.Sprintf("%s waits for %d of %d leaders", re.Location, re.Waiting, re.Of)
		if len(re.Named) == 0 {
			return s
		}
		return s + ": " + codec.Named(re.Named, re.Waiting)
	case kind.ReasonNoInstances:
		return fmt.Sprintf("no instance has joined in %s", re.Location)
	case kind.ReasonNoLeaders:
		return fmt.Sprintf("no leaders in %s", re.Location)
	case kind.ReasonFewLeaders:
		return fmt.Sprintf("%s requires %d leaders and has %d", re.Location, re.Waiting, re.Of)
	case kind.ReasonGate:
		return fmt.Sprintf("the gate %s of %s is %v for version %d%s", re.Gate.Name, re.Location, re.Gate.Verdict,
			re.Seq, re.checker())
	case kind.ReasonNoAlternative:
		return fmt.Sprintf("%s cannot use version %d, and there is no other for it", re.Location, re.Seq)
	case kind.ReasonNoSource:
		return "a version is wanted, and there is no source"
	case kind.ReasonSource:
		s := "a source was asked for a version"
		if re.By != "" {
			s += ": " + re.By
		}
		if re.Text != "" {
			s += "; the last answer was: " + re.Text
		}
		return s
	case kind.ReasonDelay:
		return fmt.Sprintf("%s gets version %d when its delay is over", re.Location, re.Seq)
	case kind.ReasonInterval:
		return fmt.Sprintf("%s has chosen another version too recently", re.Location)
	case kind.ReasonBack:
		return fmt.Sprintf("%s goes back to version %d after the location before it", re.Location, re.Seq)
	case kind.ReasonBypassed:
		return fmt.Sprintf("%s is bypassed", re.Location)
	case kind.ReasonStuck:
		return fmt.Sprintf("%s has not reached version %d before the progress deadline", re.Location, re.Seq)
	}
	return string(re.Code)
}

// checker names a gate's checker, with or without a verdict.
func (re *Reason) checker() string {
	g := &re.Gate
	if g.Since == 0 {
		return ": no checker has reported"
	}
	s := fmt.Sprintf(", says %s, %d s ago", cmp.Or(g.By, "a checker"), re.For/1000)
	if g.Text != "" {
		s += ": " + g.Text
	}
	return s
}

// Phase returns the phase of the whole rollout.
func (r *Rollout) Phase(now uint64) kind.Phase {
	switch {
	case r.halted.Since != 0:
		return kind.Halted
	case r.paused.Since != 0:
		return kind.Paused
	}
	for _, l := range r.locations {
		if t := l.Target(); !l.Bypassed && t != nil &&
			(l.Back != 0 || t.Cause == kind.CauseRollback && t.Reached == 0 && t.Abandoned == 0) {
			return kind.RollingBack
		}
	}
	phase := kind.Idle
	for _, re := range r.Why(now, now, nil) {
		if re.Blocked {
			return kind.Blocked
		}
		if re.Code != kind.ReasonBypassed {
			phase = kind.Rolling
		}
	}
	return phase
}

// Why returns the reasons why the rollout is stalled, in location order. Given a location's instances, Why names the
// instances waited for, among the first maxLooked. The age of an instance's status counts up to the time until, which
// may be an estimate later than now.
func (r *Rollout) Why(now, until uint64, instances func(*Location) iter.Seq[*Instance]) []Reason {
	var list []Reason
	if h := r.halted; h.Since != 0 {
		text := h.Reason.String()
		if h.Why != "" {
			text += ": " + h.Why
		}
		list = append(list, Reason{Code: kind.ReasonHalted, Location: h.Location, Since: h.Since,
			Wall: r.wallOf(h.Since), By: h.By, Text: text})
	}
	if p := r.paused; p.Since != 0 {
		list = append(list, Reason{Code: kind.ReasonPaused, Since: p.Since, Wall: r.wallOf(p.Since), By: p.By,
			Text: p.Why})
	}
	for _, l := range r.locations {
		list = r.whyLocation(list, l, now, until)
	}
	if instances != nil {
		r.nameLaggards(list, until, instances)
	}
	return list
}

// whyLocation appends the reasons why a location is stalled.
func (r *Rollout) whyLocation(list []Reason, l *Location, now, until uint64) []Reason {
	t := l.Target()
	reason := func(code string, blocked bool) *Reason {
		list = append(list, Reason{Code: code, Location: l.Spec.Name, Blocked: blocked, Seq: l.present()})
		return &list[len(list)-1]
	}
	ripe, next := r.upcoming(l), uint64(0)
	if before := r.source(l); before != nil {
		if row, later := r.candidates(l, before, now); row == nil && later != nil {
			next = r.begun(later) + r.delay(l)
			ripe = later.Seq
		}
	}
	switch {
	case l.Bypassed:
		reason(kind.ReasonBypassed, false)
		return list
	case l.Back != 0:
		re := reason(kind.ReasonBack, false)
		re.Seq = l.Back
		_, re.Until = r.waitsToGoBack(l, now)
		return list
	case t == nil && l.Counts.Instances == 0:
		if ripe != 0 {
			re := reason(kind.ReasonNoInstances, true)
			re.Seq = ripe
			re.Since, re.Wall = r.ripeSince(l, ripe, now)
		}
		return list
	}
	failing := r.failing(l, now)
	if r.ready(l, failing) {
		list = r.whyReady(list, l, now, failing, ripe, next)
	}
	if t != nil && t.Abandoned == 0 && (t.Reached == 0 || ripe != 0 && !l.satisfied()) {
		list = l.whyUnreached(list, until)
	}
	if l.Stalled {
		re := Reason{Code: kind.ReasonStuck, Location: l.Spec.Name, Seq: t.Seq, Since: t.Assigned,
			Wall: t.AssignedWall}
		list = append(list, re)
	}
	return list
}

// ripeSince returns when a location could first have received a version, in shard time and wall clock time; 0 if
// unknown.
func (r *Rollout) ripeSince(l *Location, seq, now uint64) (moment, wall uint64) {
	before := r.source(l)
	if before == nil {
		if v := r.Version(seq); v != nil {
			return v.Published, v.Wall
		}
		return 0, 0
	}
	for k := range before.History {
		if row := &before.History[k]; row.Seq == seq {
			moment, wall = row.Reached, row.ReachedWall
			if r.rules.DelayFrom == kind.FromAssigned {
				moment, wall = row.Assigned, row.AssignedWall
			}
			if delay := r.delay(l); wall != 0 && moment+delay <= now {
				return moment + delay, wall + delay
			}
			return moment, wall
		}
	}
	return 0, 0
}

// ended returns since when a target has been useless, in shard time and wall clock time: since it was abandoned, or,
// if it failed, since it was assigned. Both times are 0 without a target.
func (r *Row) ended() (moment, wall uint64) {
	switch {
	case r == nil:
		return 0, 0
	case r.Abandoned != 0:
		return r.Abandoned, r.AbandonedWall
	}
	return r.Assigned, r.AssignedWall
}

// wallOf returns the wall clock time of an operator's action at a moment of shard time, 0 if no such action is stored.
func (r *Rollout) wallOf(moment uint64) uint64 {
	for k := range r.audit {
		if a := &r.audit[k]; a.Since == moment {
			return a.Wall
		}
	}
	return 0
}

// whyReady appends the reasons why a ready location gets no new version.
func (r *Rollout) whyReady(list []Reason, l *Location, now uint64, failing bool, ripe, next uint64) []Reason {
	re := Reason{Location: l.Spec.Name, Seq: l.present()}
	t := l.Target()
	useless := failing || t != nil && t.Abandoned != 0
	asked := r.rules.Versions == kind.Asked && r.source(l) == nil
	switch {
	case next != 0:
		re.Code, re.Seq, re.Until = kind.ReasonDelay, ripe, next
	case failing && !l.reelectedLongAgo(&r.rules.Reelect, now):
		re.Code, re.Since, re.Until = kind.ReasonInterval, l.Reelected,
			l.Reelected+field.MillisOf(r.rules.Reelect.Interval)
	case asked && ripe == 0 && len(r.sources) == 0:
		re.Code, re.Blocked, re.Location = kind.ReasonNoSource, true, ""
		re.Since, re.Wall = t.ended()
	case asked && ripe == 0 && (useless || t == nil):
		re.Code, re.Since, re.Text = kind.ReasonSource, r.ticket.Opened, r.declined
		if k := r.sourceIndex(r.ticket.Source); k >= 0 && r.ticket.Number != 0 {
			re.By = r.sources[k].Name
		}
	case useless && ripe == 0:
		re.Code, re.Blocked = kind.ReasonNoAlternative, true
		re.Since, re.Wall = t.ended()
	default:
		return list
	}
	return append(list, re)
}

// whyUnreached appends what a location lacks to reach its target.
func (l *Location) whyUnreached(list []Reason, until uint64) []Reason {
	t := l.Target()
	re := Reason{Location: l.Spec.Name, Seq: t.Seq, Since: t.Assigned, Wall: t.AssignedWall}
	switch required := int(l.Spec.Require); {
	case l.Counts.Leaders == 0:
		re.Code, re.Blocked = kind.ReasonNoLeaders, true
	case l.Counts.Leaders < required:
		re.Code, re.Blocked, re.Waiting, re.Of = kind.ReasonFewLeaders, true, required, l.Counts.Leaders
	case !l.satisfied():
		re.Code, re.Waiting, re.Of = kind.ReasonLeaders, l.Counts.Leaders-l.Counts.Reached, l.Counts.Leaders
	default:
		for _, g := range l.Gates {
			if g.Verdict != kind.GatePassed {
				re.Code, re.Blocked, re.Gate, re.For = kind.ReasonGate, true, g, until-min(until, g.Since)
				list = append(list, re)
			}
		}
		return list
	}
	return append(list, re)
}

// nameLaggards adds names to the reasons that wait for leaders.
func (r *Rollout) nameLaggards(list []Reason, until uint64, instances func(*Location) iter.Seq[*Instance]) {
	left := maxLooked
	for k := range list {
		if re := &list[k]; re.Code == kind.ReasonLeaders {
			l := r.Find(re.Location)
			for i := range instances(l) {
				if left == 0 || len(re.Named) == min(re.Waiting, kind.MaxNamed) {
					break
				}
				left--
				if t := l.Target(); i.Role == Leader && !i.reached(t) {
					re.Named = append(re.Named, r.laggard(i, t, until))
				}
			}
		}
	}
}

// reached reports whether the instance has reported the target as reached.
func (i *Instance) reached(t *Row) bool {
	return i.Generation == t.Generation && i.Status == kind.OK && i.Current == t.Seq
}

func (r *Rollout) laggard(i *Instance, t *Row, until uint64) Laggard {
	return Laggard{
		Name: i.Name, Generation: t.Generation, Heard: i.Generation == t.Generation, Status: i.Status,
		Code: i.Code, Attempts: i.Attempts, For: until - min(until, i.Since),
		Foreign: i.Current != 0 && r.Version(i.Current) == nil, ID: i.ID,
	}
}
