package rollout

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Location is one place for versions. The exported fields are for reading.
type Location struct {
	ID   uint64 // never given twice: a location that is removed and added again has a new ID
	Spec kind.Location
	// Inherited is the delay of removed locations that stood before the location; it adds to the location's own delay.
	Inherited uint64
	// History has the past targets, and last the present target.
	History  []Row
	Gates    []Gate // of the present target, in the order of the spec
	Bypassed bool
	// Back is the version that the location goes back to as soon as the locations before have; 0 is none.
	Back uint64
	// Bar keeps the location, after a roll-back, from the versions of that time.
	Bar bar
	// Reelections counts the targets given up in a row, Reelected is the moment of the last reelection.
	Reelections uint64
	Reelected   uint64
	// Stalled is set after the progress deadline of an unreached target.
	Stalled bool
	// Revision is the revision of the last change here, TargetRevision the revision of the last new target.
	Revision, TargetRevision uint64

	// Derived from the instances. Only instances with live sessions count, and only reports about the present target.
	Counts kind.Counts

	index    int
	explicit [roles]int      // instances that failed with a listed code
	suspects [roles]suspects // instances that failed often enough, in the order of receipt of the target
}

// Row is one target in a location's history. Times are moments; 0 is never.
type Row struct {
	Seq, Generation              uint64
	Assigned, Reached, Abandoned uint64
	// The times by the wall clock, as far as known.
	AssignedWall, ReachedWall, AbandonedWall uint64
	Cause                                    kind.Cause // cause of the assignment
	Waived                                   bool       // an operator said that the target counts as reached
	Note                                     string     // who or what assigned the target, or gave it up
}

// bar keeps a location from the versions above one seq and up to another.
type bar struct{ Above, UpTo uint64 }

func (b bar) bars(seq uint64) bool { return seq > b.Above && seq <= b.UpTo }

// Target returns the present target, nil before the first.
func (l *Location) Target() *Row {
	if len(l.History) == 0 {
		return nil
	}
	return &l.History[len(l.History)-1]
}

// present is the seq of the target, 0 without a target.
func (l *Location) present() uint64 {
	if t := l.Target(); t != nil {
		return t.Seq
	}
	return 0
}

// Place is the location's place in the order, from 0 on.
func (l *Location) Place() int { return l.index }

// Delay is how old a version must be in the location before.
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

// source returns the nearest earlier location that is not bypassed: location l takes its versions from the source.
// Without a source, l takes published versions directly.
func (r *Rollout) source(l *Location) *Location {
	for k := l.index - 1; k >= 0; k-- {
		if !r.locations[k].Bypassed {
			return r.locations[k]
		}
	}
	return nil
}

// delay is how old a version must be in the source of the location: the sum of the delays between.
func (r *Rollout) delay(l *Location) uint64 {
	sum := l.Delay()
	for k := l.index - 1; k >= 0 && r.locations[k].Bypassed; k-- {
		sum += r.locations[k].Delay()
	}
	return sum
}

// entry returns the first location that is not bypassed, nil where all are.
func (r *Rollout) entry() *Location {
	return first(r.locations, func(l *Location) bool { return !l.Bypassed })
}

// candidates returns the newest row of the location before whose delay is over, and the oldest row whose delay is not:
// the version that a location may get now, and the next version. The location may get both versions by itself.
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

// begun is the moment from which the delay of the next location counts.
func (r *Rollout) begun(row *Row) uint64 {
	if r.rules.DelayFrom == kind.FromAssigned {
		return row.Assigned
	}
	return row.Reached
}

// fits reports whether a location may get a version by itself: the version is newer than the present version, is kept,
// was not withdrawn, was not given up in the location or before, and the location was not rolled back from the version.
func (r *Rollout) fits(l *Location, seq uint64) bool {
	if seq <= l.present() || l.Bar.bars(seq) {
		return false
	}
	v := r.Version(seq)
	return v != nil && !v.Withdrawn && !r.abandonedUpTo(v, l)
}

// newest returns the version that a location is to get by itself, 0 for none.
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

// assign gives a location a target, under a generation of its own.
func (r *Rollout) assign(at At, l *Location, seq uint64, cause kind.Cause, note string) {
	if v := r.Version(seq); cause >= kind.CausePromote && v != nil {
		r.setAbandoned(at, v, l, false) // an operator's act gives the version again
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

// makeRoom drops the oldest rows that the next location does not wait for, down to the number of kept rows. The present
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

// abandon gives the present target up.
func (r *Rollout) abandon(at At, l *Location, note string) {
	t := l.Target()
	t.Abandoned, t.AbandonedWall, t.Note = clock.Moment(at.Now), at.Wall, codec.Cut(note, kind.MaxText)
	if v := r.Version(t.Seq); v != nil {
		r.setAbandoned(at, v, l, true)
	}
	r.changeLocation(at, l)
	at.event(Event{Kind: eventAbandoned, Location: l.Spec.Name, Seq: t.Seq, Generation: t.Generation})
}
