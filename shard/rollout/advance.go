package rollout

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/clock"
)

// run advances the rollout if a command may have unblocked it or a deadline has passed.
func (r *Rollout) run(at At, moves bool) {
	if !moves && (r.due == 0 || at.Now < r.due) {
		return
	}
	r.advance(at)
	if due := r.nextDue(at.Now); due != r.due {
		r.due, at.Out.Changed = due, true
	}
	r.resize()
}

// Due must be called when the time from NextDue has come.
func (r *Rollout) Due(at At) { r.run(at, false) }

// NextDue is the shard time at which time alone changes something; false for never.
func (r *Rollout) NextDue() (uint64, bool) { return r.due, r.due != 0 }

// advance is the only function that assigns targets automatically. It visits the locations once, in order: a new target
// never unblocks an earlier location.
//
// While the rollout is stopped, advance still records reached targets; they take effect afterwards.
func (r *Rollout) advance(at At) {
	for _, l := range r.locations {
		r.noteReached(at, l)
	}
	if r.stopped() {
		return
	}
	for _, l := range r.locations {
		if r.step(at, l); r.halted.Since != 0 {
			return
		}
	}
	r.ask(at)
}

// noteReached records that a location has reached its target.
func (r *Rollout) noteReached(at At, l *Location) {
	t := l.Target()
	if t == nil || t.Reached != 0 || t.Abandoned != 0 || !l.satisfied() || !l.gatesPassed() || r.failing(l, at.Now) {
		return
	}
	r.setReached(at, l)
}

func (r *Rollout) setReached(at At, l *Location) {
	t := l.Target()
	t.Reached, t.ReachedWall = clock.Moment(at.Now), at.Wall
	l.Reelections, l.Stalled = 0, false
	r.changeLocation(at, l)
	at.event(Event{Kind: eventReached, Location: l.Spec.Name, Seq: t.Seq, Generation: t.Generation})
}

// step assigns the location's next target, if the location is ready and a version exists.
func (r *Rollout) step(at At, l *Location) {
	if l.Bypassed {
		return
	}
	if l.Back != 0 {
		if waits, _ := r.waitsToGoBack(l, at.Now); !waits {
			r.assign(at, l, l.Back, kind.CauseRollback, l.Target().Note)
		}
		return
	}
	failing := r.failing(l, at.Now)
	if r.ready(l, failing) {
		seq := r.newest(l, at.Now)
		switch t := l.Target(); {
		case failing:
			if r.reelect(at, l, seq) {
				return
			}
		case seq == 0:
		case t == nil:
			r.assign(at, l, seq, kind.CauseInitial, "")
		case t.Abandoned != 0:
			r.assign(at, l, seq, kind.CauseReplaced, "")
		default:
			r.assign(at, l, seq, kind.CauseNext, "")
		}
	}
	r.checkDeadlines(at, l)
}

// ready reports whether a location may get a new target: it has no target and an instance waits; or the target was
// abandoned, or is about to be; or the target is reached, and as many leaders as the spec requires still use it.
func (r *Rollout) ready(l *Location, failing bool) bool {
	t := l.Target()
	if t == nil {
		return l.Counts.Instances > 0
	}
	return t.Abandoned != 0 || failing || t.Reached != 0 && l.satisfied()
}

// reelect abandons a target that instances cannot use, and assigns version seq instead. It does nothing if there is no
// replacement (0) and no source to ask for one, or if the last reelection was too recent. It reports whether the
// location has a new target, or the rollout halts.
func (r *Rollout) reelect(at At, l *Location, seq uint64) bool {
	askable := r.rules.Versions == kind.Asked && r.source(l) == nil
	if seq == 0 && !askable || !l.reelectedLongAgo(&r.rules.Reelect, at.Now) {
		return false
	}
	if !l.mayReelect(&r.rules.Reelect, at.Now) {
		r.halt(at, Stop{Reason: kind.HaltedReelections, Location: l.Spec.Name})
		return true
	}
	if seq == 0 {
		return false
	}
	l.Reelections++
	l.Reelected = clock.Moment(at.Now)
	r.abandon(at, l, "failed")
	r.assign(at, l, seq, kind.CauseReelection, "")
	return true
}

// reelectedLongAgo reports whether the minimum interval since the last reelection is over, mayReelect whether a further
// reelection is possible now.
func (l *Location) reelectedLongAgo(rules *kind.Reelect, now uint64) bool {
	return l.Reelected == 0 || clock.Over(l.Reelected, field.MillisOf(rules.Interval), now)
}

func (l *Location) mayReelect(rules *kind.Reelect, now uint64) bool {
	return l.reelectedLongAgo(rules, now) && l.Reelections < uint64(rules.Most)
}

// waitsToGoBack reports whether a location that rolls back waits for the previous location, and when the wait ends if
// only time is missing.
func (r *Rollout) waitsToGoBack(l *Location, now uint64) (waits bool, until uint64) {
	before := r.source(l)
	switch {
	case before == nil:
		return false, 0
	case before.Back != 0:
		return true, 0
	}
	t := before.Target()
	if t == nil || t.Seq != l.Back {
		return false, 0
	}
	if t.Reached == 0 {
		return true, 0
	}
	if delay := r.delay(l); !clock.Over(t.Reached, delay, now) {
		return true, t.Reached + delay
	}
	return false, 0
}

// pending is the timestamp from which the progress deadline for a location's target counts; false without an unreached
// target.
func (r *Rollout) pending(l *Location) (since uint64, ok bool) {
	t := l.Target()
	if t == nil || t.Reached != 0 || t.Abandoned != 0 || l.Bypassed || l.Back != 0 {
		return 0, false
	}
	return max(t.Assigned, r.resumed), true
}

// checkDeadlines reports a target that is unreached for too long, and halts if the spec requires it.
func (r *Rollout) checkDeadlines(at At, l *Location) {
	since, ok := r.pending(l)
	if !ok {
		return
	}
	if d := r.rules.ProgressDeadline; d != 0 && !l.Stalled && clock.Over(since, field.MillisOf(d), at.Now) {
		l.Stalled = true
		r.changeLocation(at, l)
		at.event(Event{Kind: eventStuck, Location: l.Spec.Name, Seq: l.present(), Generation: l.Target().Generation})
	}
	if d := r.rules.HaltDeadline; d != 0 && clock.Over(since, field.MillisOf(d), at.Now) {
		r.halt(at, Stop{Reason: kind.HaltedDeadline, Location: l.Spec.Name})
	}
}

func (r *Rollout) halt(at At, s Stop) {
	s.Since = clock.Moment(at.Now)
	r.halted = s
	r.changeHead(at)
	at.event(Event{Kind: eventHalted, Location: s.Location, Halt: s.Reason})
}

// nextDue is the next time at which time alone changes something, once all present moves are made.
func (r *Rollout) nextDue(now uint64) uint64 {
	if r.stopped() {
		return 0
	}
	due := uint64(0)
	at := func(moment uint64) {
		if moment > now && (due == 0 || moment < due) {
			due = moment
		}
	}
	for _, l := range r.locations {
		if !l.Bypassed {
			r.dueOf(l, now, at)
		}
	}
	if r.wants(now) {
		at(r.asked + field.MillisOf(r.rules.AskInterval))
	}
	return due
}

func (r *Rollout) dueOf(l *Location, now uint64, at func(uint64)) {
	if l.Back != 0 {
		_, until := r.waitsToGoBack(l, now)
		at(until)
		return
	}
	failing := r.failing(l, now)
	if r.ready(l, failing) {
		if before := r.source(l); before != nil {
			if _, next := r.candidates(l, before, now); next != nil {
				at(r.begun(next) + r.delay(l))
			}
		}
	}
	if failing {
		at(l.Reelected + field.MillisOf(r.rules.Reelect.Interval))
	} else if t := l.Target(); t != nil && t.Abandoned == 0 {
		_, ripens := r.signals(l, now)
		at(ripens)
	}
	since, ok := r.pending(l)
	if ok && r.rules.ProgressDeadline != 0 && !l.Stalled {
		at(since + field.MillisOf(r.rules.ProgressDeadline))
	}
	if ok && r.rules.HaltDeadline != 0 {
		at(since + field.MillisOf(r.rules.HaltDeadline))
	}
}
