package rollout

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Location is one stage that versions are deployed to. Callers must not modify the exported fields.
type Location struct {
	ID   uint64 // never reused: a location that is deleted and added again has a new ID
	Spec kind.Location
	// Inherited is the delay taken over from deleted locations before this location; it adds to the location's own
	// delay.
	Inherited uint64
	// History has the past targets, and the present target as the last entry.
	History  []Row
	Gates    []Gate // for the present target, in spec order
	Bypassed bool
	// Back is the version the location rolls back to as soon as the previous locations have; 0 is none.
	Back uint64
	// Bar prevents, after a rollback, assigning the versions that existed at that time.
	Bar bar
	// Reelections counts consecutive reelections, Reelected is the timestamp of the last one.
	Reelections uint64
	Reelected   uint64
	// Stalled is set once an unreached target has passed the progress deadline.
	Stalled bool
	// Revision is the last change's revision, TargetRevision the revision at which the target last changed.
	Revision, TargetRevision uint64

	// Derived from the instances. Only instances with live sessions count, and only reports about the present target.
	Counts kind.Counts

	index    int
	explicit [roles]int      // instances that failed with a listed code
	suspects [roles]suspects // instances that failed often enough, ordered by when they received the target
}

// Row is one target in a location's history. Times are timestamps; 0 is never.
type Row struct {
	Seq, Generation              uint64
	Assigned, Reached, Abandoned uint64
	// The times as wall clock times, if known.
	AssignedWall, ReachedWall, AbandonedWall uint64
	Cause                                    kind.Cause // cause of the assignment
	Waived                                   bool       // an operator declared the target as reached
	Note                                     string     // who or what assigned the target, or abandoned it
}

// bar excludes the versions above one seq and up to another.
type bar struct{ Above, UpTo uint64 }

func (b bar) bars(seq uint64) bool { return seq > b.Above && seq <= b.UpTo }

// Target returns the present target, nil before the first.
func (l *Location) Target() *Row {
	if len(l.History) == 0 {
		return nil
	}
	return &l.History[len(l.History)-1]
}

// present is the target's seq, 0 without a target.
func (l *Location) present() uint64 {
	if t := l.Target(); t != nil {
		return t.Seq
	}
	return 0
}

// Place is the location's index in the order.
func (l *Location) Place() int { return l.index }

// Delay is how long the previous location must have had a version before this location may get it.
func (l *Location) Delay() uint64 { return field.MillisOf(l.Spec.Delay) + l.Inherited }

// satisfied reports whether as many leaders have reached the target as the spec requires. A location without live
// leaders is not satisfied, because there is no evidence.
func (l *Location) satisfied() bool {
	required := max(1, l.Counts.Leaders)
	if l.Spec.Require > 0 {
		required = int(l.Spec.Require)
	}
	return l.Counts.Reached >= required
}

// source returns the nearest earlier location that is not bypassed: location l takes its versions from there. Without a
// source, l takes published versions directly.
func (r *Rollout) source(l *Location) *Location {
	for k := l.index - 1; k >= 0; k-- {
		if !r.locations[k].Bypassed {
			return r.locations[k]
		}
	}
	return nil
}

// delay is how long the location's source must have had a version before the location may get it: the sum of all delays
// between the two.
func (r *Rollout) delay(l *Location) uint64 {
	sum := l.Delay()
	for k := l.index - 1; k >= 0 && r.locations[k].Bypassed; k-- {
		sum += r.locations[k].Delay()
	}
	return sum
}

// entry returns the first location that is not bypassed, nil if all are.
func (r *Rollout) entry() *Location {
	return first(r.locations, func(l *Location) bool { return !l.Bypassed })
}

// candidates returns two rows from the previous location's history, both with versions that location l may get
// automatically: ripe is the newest row with an expired delay, a version for l to take now; next is the row whose delay
// expires next.
func (r *Rollout) candidates(l, before *Location, now uint64) (ripe, next *Row) {
	delay := r.delay(l)
	for k := len(before.History) - 1; k >= 0; k-- {
		row := &before.History[k]
		begun := row.Reached
		if r.rules.DelayFrom == kind.FromAssigned {
			begun = row.Assigned
			if k == len(before.History)-1 && r.failing(before, now) {
				continue
			}
		}
		if begun == 0 || row.Abandoned != 0 || !r.fits(l, row.Seq) {
			continue
		}
		if !clock.Over(begun, delay, now) {
			if next == nil || begun <= r.begun(next) {
				next = row
			}
		} else if ripe == nil {
			ripe = row
		}
	}
	return ripe, next
}

// begun is the timestamp from which the next location's delay counts.
func (r *Rollout) begun(row *Row) uint64 {
	if r.rules.DelayFrom == kind.FromAssigned {
		return row.Assigned
	}
	return row.Reached
}

// fits reports whether a location may get a version automatically: the version is newer than the present version, is
// kept, was not withdrawn, was not abandoned in this or an earlier location, and was not excluded by a rollback.
func (r *Rollout) fits(l *Location, seq uint64) bool {
	if seq <= l.present() || l.Bar.bars(seq) {
		return false
	}
	v := r.Version(seq)
	return v != nil && !v.Withdrawn && !r.abandonedUpTo(v, l)
}

// newest returns the version a location should get automatically, 0 for none.
func (r *Rollout) newest(l *Location, now uint64) uint64 {
	if before := r.source(l); before != nil {
		if ripe, _ := r.candidates(l, before, now); ripe != nil {
			return ripe.Seq
		}
		return 0
	}
	for k := len(r.versions) - 1; k >= 0; k-- {
		if r.fits(l, r.versions[k].Seq) {
			return r.versions[k].Seq
		}
	}
	return 0
}

// assign gives a location a target, under a new generation.
func (r *Rollout) assign(at At, l *Location, seq uint64, cause kind.Cause, note string) {
	if v := r.Version(seq); cause >= kind.CausePromote && v != nil {
		r.setAbandoned(at, v, l, false) // an operator's action assigns the version again
	}
	r.generation++
	r.makeRoom(l, r.rules.KeepVersions-1, at.Now)
	l.History = append(l.History, Row{
		Seq: seq, Generation: r.generation, Assigned: clock.Moment(at.Now), AssignedWall: at.Wall, Cause: cause,
		Note: codec.Cut(note, kind.MaxText),
	})
	l.Stalled, l.Back = false, 0
	for k := range l.Gates {
		l.Gates[k] = Gate{Name: l.Gates[k].Name}
	}
	l.Counts.Reached, l.Counts.Failing = 0, 0
	for role := range roles {
		l.explicit[role] = 0
		l.suspects[role].reset()
	}
	l.TargetRevision = at.Revision
	r.changeLocation(at, l)
	r.changeHead(at)
	at.event(Event{
		Kind: eventAssigned, Location: l.Spec.Name, Seq: seq, Generation: r.generation, Cause: cause,
	})
}

// makeRoom drops the oldest rows the next location does not wait for, down to the number of kept rows. The present
// target stays, because the rollout keeps more rows than the next location waits for.
func (r *Rollout) makeRoom(l *Location, keep int, now uint64) {
	for len(l.History) > keep {
		var ripe, next *Row
		for _, after := range r.locations[l.index+1:] {
			if !after.Bypassed {
				if r.source(after) == l {
					ripe, next = r.candidates(after, l, now)
				}
				break
			}
		}
		drop := 0
		for &l.History[drop] == ripe || &l.History[drop] == next {
			drop++
		}
		l.History = append(l.History[:drop], l.History[drop+1:]...)
	}
}

// abandon abandons the present target.
func (r *Rollout) abandon(at At, l *Location, note string) {
	t := l.Target()
	t.Abandoned, t.AbandonedWall, t.Note = clock.Moment(at.Now), at.Wall, codec.Cut(note, kind.MaxText)
	if v := r.Version(t.Seq); v != nil {
		r.setAbandoned(at, v, l, true)
	}
	r.changeLocation(at, l)
	at.event(Event{Kind: eventAbandoned, Location: l.Spec.Name, Seq: t.Seq, Generation: t.Generation})
}
