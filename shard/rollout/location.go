package rollout

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// Location is one place that versions reach. Its exported fields are for reading.
type Location struct {
	ID   uint64 // never given twice: a location that is removed and added again is another one
	Spec kind.Location
	// Inherited is the delay of locations that were before it and have been removed; it adds to its own.
	Inherited uint64
	// History has the targets of the past and the present one, which is the last.
	History  []Row
	Gates    []Gate // of the present target, in the order of the spec
	Bypassed bool
	// Back is the version that it goes back to as soon as those before it have; 0 is none.
	Back uint64
	// Bar keeps it, after a roll-back, from the versions that there were.
	Bar Bar
	// Reelections counts targets that were given up in a row, Reelected is the moment of the last.
	Reelections uint64
	Reelected   uint64
	// Stuck is set where the target is not reached for longer than the progress deadline.
	Stuck bool
	// Revision is that of the last change of anything here, TargetRevision that of the last new target.
	Revision, TargetRevision uint64

	// What follows from the instances. Only instances whose sessions live are counted, and what they say only where it
	// is about the present target.
	Counts kind.Counts

	index    int
	explicit [roles]int      // instances that failed with a listed code
	suspects [roles]suspects // instances that failed often enough, by when they received the target
}

// Row is one target in a location's history. Times are moments; 0 is never.
type Row struct {
	Seq, Generation              uint64
	Assigned, Reached, Abandoned uint64
	// The same by the wall clock, as far as it is known.
	AssignedWall, ReachedWall, AbandonedWall uint64
	Cause                                    kind.Cause // why it was assigned
	Waived                                   bool       // an operator said that it counts as reached
	Note                                     string     // who or what assigned it, or gave it up
}

// Bar keeps a location from the versions above one seq and up to another.
type Bar struct{ Above, UpTo uint64 }

func (b Bar) bars(seq uint64) bool { return seq > b.Above && seq <= b.UpTo }

// Target returns the present target, nil where there has been none.
func (l *Location) Target() *Row {
	if len(l.History) == 0 {
		return nil
	}
	return &l.History[len(l.History)-1]
}

// present is the seq of the target, 0 where there is none.
func (l *Location) present() uint64 {
	if t := l.Target(); t != nil {
		return t.Seq
	}
	return 0
}

// Place is where it stands in the order, from 0 on.
func (l *Location) Place() int { return l.index }

// Delay is how old a version must be in the location before.
func (l *Location) Delay() uint64 { return field.MillisOf(l.Spec.Delay) + l.Inherited }

// satisfied reports whether as many leaders have reached the target as the spec requires. A location without live
// leaders is not: there is no evidence.
func (l *Location) satisfied() bool {
	required := max(1, l.Counts.Leaders)
	if l.Spec.Require > 0 {
		required = int(l.Spec.Require)
	}
	return l.Counts.Reached >= required
}

// source returns the nearest earlier location that is not bypassed: l takes its versions from there. Without one it
// returns nil, and l takes published versions directly.
func (r *Rollout) source(l *Location) *Location {
	for k := l.index - 1; k >= 0; k-- {
		if !r.locations[k].Bypassed {
			return r.locations[k]
		}
	}
	return nil
}

// delay is how old a version must be in the location that this one follows: the sum of the delays between.
func (r *Rollout) delay(l *Location) uint64 {
	sum := l.Delay()
	for k := l.index - 1; k >= 0 && r.locations[k].Bypassed; k-- {
		sum += r.locations[k].Delay()
	}
	return sum
}

// entry returns the first location that is not bypassed, nil where all are.
func (r *Rollout) entry() *Location {
	for _, l := range r.locations {
		if !l.Bypassed {
			return l
		}
	}
	return nil
}

// candidates returns the newest row of the location before whose delay is over, and the oldest whose delay is not: what
// a location may be given now and what next. Both have a version that it may be given by itself.
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

// fits reports whether a location may be given a version by itself: it is newer than the present one, is kept, was not
// withdrawn, was not given up up to here, and the location was not rolled back from it.
func (r *Rollout) fits(l *Location, seq uint64) bool {
	if seq <= l.present() || l.Bar.bars(seq) {
		return false
	}
	v := r.Version(seq)
	return v != nil && !v.Withdrawn && !r.abandonedUpTo(v, l)
}

// newest returns the version that a location is to be given by itself, 0 where there is none.
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
		r.setAbandoned(at, v, l, false) // who gives it again has seen to it
	}
	r.generation++
	r.makeRoom(l, r.rules.KeepVersions-1, at.Now)
	l.History = append(l.History, Row{
		Seq: seq, Generation: r.generation, Assigned: clock.Moment(at.Now), AssignedWall: at.Wall, Cause: cause,
		Note: form.Cut(note, kind.MaxText),
	})
	l.Stuck, l.Back = false, 0
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
		Kind: EventAssigned, Location: l.Spec.Name, Seq: seq, Generation: r.generation, Cause: cause,
	})
}

// makeRoom drops the oldest rows that the next location does not wait for, until there are no more than are kept. The
// present target stays: more are kept than the next location waits for.
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
	t.Abandoned, t.AbandonedWall, t.Note = clock.Moment(at.Now), at.Wall, form.Cut(note, kind.MaxText)
	if v := r.Version(t.Seq); v != nil {
		r.setAbandoned(at, v, l, true)
	}
	r.changeLocation(at, l)
	at.event(Event{Kind: EventAbandoned, Location: l.Spec.Name, Seq: t.Seq, Generation: t.Generation})
}
