package rollout

import (
	"fmt"
	"iter"
	"strings"
)

// Phase is how a rollout is as a whole.
type Phase uint8

// The phases, the first that fits counting from the end.
const (
	PhaseIdle        Phase = iota // every location has reached the newest version that it may have
	PhaseRolling                  // versions are on their way
	PhaseBlocked                  // something has to come from outside: Why says what
	PhaseRollingBack              // locations go back to a version
	PhasePaused                   // an operator paused it
	PhaseHalted                   // it halted, and waits for an operator
)

var phaseNames = [...]string{
	PhaseIdle: "idle", PhaseRolling: "rolling", PhaseBlocked: "blocked", PhaseRollingBack: "rolling back",
	PhasePaused: "paused", PhaseHalted: "halted",
}

// String returns the phase as people read it.
func (p Phase) String() string { return phaseNames[p] }

// Code is why something does not move, for programs.
type Code string

// The codes of reasons. Of those marked "blocked" neither time nor the instances that are there can do away.
const (
	CodeHalted        Code = "halted"
	CodePaused        Code = "paused"
	CodeLeaders       Code = "leaders"         // leaders have not reached the target
	CodeNoInstances   Code = "no-instances"    // blocked: a version is there, and no instance has ever asked
	CodeNoLeaders     Code = "no-leaders"      // blocked: no leader lives
	CodeFewLeaders    Code = "few-leaders"     // blocked: fewer live than are required
	CodeGate          Code = "gate"            // blocked: a gate is not passed
	CodeNoAlternative Code = "no-alternative"  // blocked: the target is of no use, and there is no other version
	CodeNoSource      Code = "no-source"       // blocked: a version is wanted, and there is no source
	CodeSource        Code = "source"          // a source was asked and has not answered
	CodeDelay         Code = "delay"           // a version is not old enough in the location before
	CodeInterval      Code = "reelection-wait" // the last choice of another version was too recently
	CodeBack          Code = "back"            // goes back after the location before it
	CodeBypassed      Code = "bypassed"        // an operator took the location out of the order
	CodeStuck         Code = "stuck"           // the progress deadline has passed
)

// Reason is why something does not move.
type Reason struct {
	Code     Code
	Location string // "" for the whole rollout
	Blocked  bool
	Seq      uint64 // the version that it is about
	// Waiting of Of leaders have not reached the target; Named are the first of them.
	Waiting, Of int
	Named       []Laggard
	Gate        Gate
	Since       uint64 // moment, 0 where it is not known
	Until       uint64 // shard time at which time alone ends it, 0 where it does not
	By, Text    string
}

// Stands reports whether an operator may have to do something about it: neither time nor the instances that there are
// can do away with it, or they have not for too long.
func (re *Reason) Stands() bool {
	return re.Blocked || re.Code == CodeHalted || re.Code == CodePaused || re.Code == CodeStuck
}

// Laggard is an instance that others wait for.
type Laggard struct {
	Name       string
	Generation uint64 // of the target
	Heard      bool   // it has reported that generation
	Status     Status
	Code       string
	Attempts   uint64
	For        uint64 // milliseconds in this status
	Foreign    bool   // it uses a version that is not known here
}

// String returns it as people read it.
func (la Laggard) String() string {
	if !la.Heard {
		return fmt.Sprintf("%s (has not heard of generation %d)", la.Name, la.Generation)
	}
	s := fmt.Sprintf("%s (%v", la.Name, la.Status)
	if la.Code != "" {
		s += " " + la.Code
	}
	if la.Foreign {
		s += ", foreign version"
	}
	return fmt.Sprintf("%s %d s, attempt %d)", s, la.For/1000, la.Attempts)
}

// String returns the reason as people read it.
func (re Reason) String() string {
	switch re.Code {
	case CodeHalted, CodePaused:
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
	case CodeLeaders:
		var names []string
		for _, la := range re.Named {
			names = append(names, la.String())
		}
		s := fmt.Sprintf("%s waits for %d of %d leaders", re.Location, re.Waiting, re.Of)
		if len(names) == 0 {
			return s
		}
		if more := re.Waiting - len(names); more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		return s + ": " + strings.Join(names, ", ")
	case CodeNoInstances:
		return fmt.Sprintf("no instance has joined in %s", re.Location)
	case CodeNoLeaders:
		return fmt.Sprintf("no leaders in %s", re.Location)
	case CodeFewLeaders:
		return fmt.Sprintf("%s requires %d leaders and has %d", re.Location, re.Waiting, re.Of)
	case CodeGate:
		s := fmt.Sprintf("the gate %s of %s is %v for version %d", re.Gate.Name, re.Location, re.Gate.Verdict, re.Seq)
		if re.Gate.Text != "" {
			s += ": " + re.Gate.Text
		}
		return s
	case CodeNoAlternative:
		return fmt.Sprintf("%s cannot use version %d, and there is no other for it", re.Location, re.Seq)
	case CodeNoSource:
		return "a version is wanted, and there is no source"
	case CodeSource:
		s := "a source was asked for a version"
		if re.By != "" {
			s += ": " + re.By
		}
		if re.Text != "" {
			s += "; the last answer was: " + re.Text
		}
		return s
	case CodeDelay:
		return fmt.Sprintf("%s gets version %d when its delay is over", re.Location, re.Seq)
	case CodeInterval:
		return fmt.Sprintf("%s has chosen another version too recently", re.Location)
	case CodeBack:
		return fmt.Sprintf("%s goes back to version %d after the location before it", re.Location, re.Seq)
	case CodeBypassed:
		return fmt.Sprintf("%s is bypassed", re.Location)
	case CodeStuck:
		return fmt.Sprintf("%s has not reached version %d before the progress deadline", re.Location, re.Seq)
	}
	return string(re.Code)
}

// Phase returns how the rollout is as a whole.
func (r *Rollout) Phase(now uint64) Phase {
	switch {
	case r.halted.Since != 0:
		return PhaseHalted
	case r.paused.Since != 0:
		return PhasePaused
	}
	for _, l := range r.locations {
		if t := l.Target(); !l.Bypassed && t != nil &&
			(l.Back != 0 || t.Cause == CauseRollback && t.Reached == 0 && t.Abandoned == 0) {
			return PhaseRollingBack
		}
	}
	phase := PhaseIdle
	for _, re := range r.Why(now, now, nil) {
		if re.Blocked {
			return PhaseBlocked
		}
		if re.Code != CodeBypassed {
			phase = PhaseRolling
		}
	}
	return phase
}

// Why returns why the rollout does not move, in the order of the locations. With the instances of a location it names
// those that others wait for, as far as they are among the first MaxLooked; how long they have been as they are counts
// up to a time of its own, which may be an estimate that is later than now.
func (r *Rollout) Why(now, until uint64, instances func(*Location) iter.Seq[*Instance]) []Reason {
	var list []Reason
	if h := r.halted; h.Since != 0 {
		text := h.Reason.String()
		if h.Why != "" {
			text += ": " + h.Why
		}
		list = append(list, Reason{Code: CodeHalted, Location: h.Location, Since: h.Since, By: h.By, Text: text})
	}
	if p := r.paused; p.Since != 0 {
		list = append(list, Reason{Code: CodePaused, Since: p.Since, By: p.By, Text: p.Why})
	}
	for _, l := range r.locations {
		list = r.whyLocation(list, l, now)
	}
	if instances != nil {
		r.nameLaggards(list, until, instances)
	}
	return list
}

// whyLocation appends why a location does not move.
func (r *Rollout) whyLocation(list []Reason, l *Location, now uint64) []Reason {
	t := l.Target()
	reason := func(code Code, blocked bool) *Reason {
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
		reason(CodeBypassed, false)
		return list
	case l.Back != 0:
		re := reason(CodeBack, false)
		re.Seq = l.Back
		_, re.Until = r.waitsToGoBack(l, now)
		return list
	case t == nil && l.Counts.Instances == 0:
		if ripe != 0 {
			reason(CodeNoInstances, true).Seq = ripe
		}
		return list
	}
	failing := r.failing(l, now)
	if r.ready(l, failing) {
		list = r.whyReady(list, l, now, failing, ripe, next)
	}
	if t != nil && t.Abandoned == 0 && (t.Reached == 0 || ripe != 0 && !l.satisfied()) {
		list = l.whyUnreached(list)
	}
	if l.Stuck {
		re := Reason{Code: CodeStuck, Location: l.Spec.Name, Seq: t.Seq, Since: t.Assigned}
		list = append(list, re)
	}
	return list
}

// whyReady appends what a location that is ready for another version waits for.
func (r *Rollout) whyReady(list []Reason, l *Location, now uint64, failing bool, ripe, next uint64) []Reason {
	re := Reason{Location: l.Spec.Name, Seq: l.present()}
	t := l.Target()
	useless := failing || t != nil && t.Abandoned != 0
	asked := r.rules.Source == SourceAsked && r.source(l) == nil
	switch {
	case next != 0:
		re.Code, re.Seq, re.Until = CodeDelay, ripe, next
	case failing && !l.reelectedLongAgo(&r.rules.Reelect, now):
		re.Code, re.Since, re.Until = CodeInterval, l.Reelected, l.Reelected+r.rules.Reelect.MinInterval
	case asked && ripe == 0 && len(r.sources) == 0:
		re.Code, re.Blocked, re.Location = CodeNoSource, true, ""
	case asked && ripe == 0 && (useless || t == nil):
		re.Code, re.Since, re.Text = CodeSource, r.ticket.Opened, r.declined
		if k := r.sourceIndex(r.ticket.Source); k >= 0 && r.ticket.Number != 0 {
			re.By = r.sources[k].Name
		}
	case useless && ripe == 0:
		re.Code, re.Blocked = CodeNoAlternative, true
	default:
		return list
	}
	return append(list, re)
}

// whyUnreached appends what a location lacks to have reached its target.
func (l *Location) whyUnreached(list []Reason) []Reason {
	t := l.Target()
	re := Reason{Location: l.Spec.Name, Seq: t.Seq, Since: t.Assigned}
	switch required := int(l.Spec.Require); {
	case l.Counts.Leaders == 0:
		re.Code, re.Blocked = CodeNoLeaders, true
	case l.Counts.Leaders < required:
		re.Code, re.Blocked, re.Waiting, re.Of = CodeFewLeaders, true, required, l.Counts.Leaders
	case !l.satisfied():
		re.Code, re.Waiting, re.Of = CodeLeaders, l.Counts.Leaders-l.Counts.Reached, l.Counts.Leaders
	default:
		for _, g := range l.Gates {
			if g.Verdict != VerdictPassed {
				re.Code, re.Blocked, re.Gate = CodeGate, true, g
				list = append(list, re)
			}
		}
		return list
	}
	return append(list, re)
}

// nameLaggards puts names into the reasons that wait for leaders.
func (r *Rollout) nameLaggards(list []Reason, until uint64, instances func(*Location) iter.Seq[*Instance]) {
	left := MaxLooked
	for k := range list {
		if re := &list[k]; re.Code == CodeLeaders {
			l := r.Find(re.Location)
			for i := range instances(l) {
				if left == 0 || len(re.Named) == min(re.Waiting, MaxNamed) {
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

// reached reports whether the instance says that it has reached the target.
func (i *Instance) reached(t *Row) bool {
	return i.Generation == t.Generation && i.Status == StatusOK && i.Current == t.Seq
}

func (r *Rollout) laggard(i *Instance, t *Row, until uint64) Laggard {
	return Laggard{
		Name: i.Name, Generation: t.Generation, Heard: i.Generation == t.Generation, Status: i.Status,
		Code: i.Code, Attempts: i.Attempts, For: until - min(until, i.Since),
		Foreign: i.Current != 0 && r.Version(i.Current) == nil,
	}
}
