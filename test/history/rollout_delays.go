package history

import (
	"fmt"
	"time"
)

// clockSlack is by how much, as a part of one, the fastest clock of a host runs faster than that of the recording.
const clockSlack = 0.05

// Delays checks how versions flow from location to location. What a location gets by itself was reached in the one that
// it follows, at least for the delay, and was withdrawn or given up nowhere up to it; and it is none of those that the
// location was rolled back from. That is checked twice: with what the rollout says of itself, in the time of its shard,
// and with what instances reported and were shown, by the clock of the recording.
func Delays(h *History) []string {
	var found findings
	for i := range h.Rollouts {
		f := &h.Rollouts[i]
		d := delays{RolloutFinal: f, bypassed: bypassed(h, f), reached: firstReached(h, f), shown: firstShown(h, f),
			newest: newestBefore(h, f)}
		for place := range f.Locations {
			l := &f.Locations[place]
			for j := range l.Targets {
				if t := &l.Targets[j]; t.Automatic {
					found = append(found, d.check(place, t)...)
				}
			}
		}
	}
	return found
}

// delays is what is known of a rollout.
type delays struct {
	*RolloutFinal
	bypassed map[string]bool     // locations that may have been bypassed at some time
	reached  map[reachedKey]Time // when an instance began for the first time to report that
	shown    map[uint64]*Target  // what was shown first, by generation
	newest   map[string]uint64   // the newest version that was there before an act, by its reason
}

type reachedKey struct {
	location string
	seq      uint64
}

// bypassed returns the locations that operators may have bypassed.
func bypassed(h *History, f *RolloutFinal) map[string]bool {
	locations := make(map[string]bool)
	for i := range h.Requests {
		r := &h.Requests[i]
		if r.Kind == Act && r.Rollout == f.Rollout && r.Verb == verbBypass && r.mayHaveTakenEffect() {
			for _, name := range r.Locations {
				locations[name] = true
			}
		}
	}
	return locations
}

// firstReached returns when instances began for the first time to report that they have reached a version.
func firstReached(h *History, f *RolloutFinal) map[reachedKey]Time {
	first := make(map[reachedKey]Time)
	for i := range h.Requests {
		r := &h.Requests[i]
		k := reachedKey{r.Location, r.Seq}
		if at, ok := first[k]; r.Kind == Reach && r.Rollout == f.Rollout && (!ok || r.Called < at) {
			first[k] = r.Called
		}
	}
	return first
}

// firstShown returns what instances were shown first of each generation.
func firstShown(h *History, f *RolloutFinal) map[uint64]*Target {
	first := make(map[uint64]*Target)
	for i := range h.Targets { // they are in the order of their moments
		if t := &h.Targets[i]; t.Rollout == f.Rollout && first[t.Generation] == nil {
			first[t.Generation] = t
		}
	}
	return first
}

// newestBefore returns for each act, by its reason, the newest version that was acknowledged before the act was sent.
func newestBefore(h *History, f *RolloutFinal) map[string]uint64 {
	newest := make(map[string]uint64)
	for i := range h.Requests {
		act := &h.Requests[i]
		if act.Kind != Act || act.Rollout != f.Rollout {
			continue
		}
		for j := range h.Requests {
			r := &h.Requests[j]
			if r.Rollout == f.Rollout && (r.Kind == Publish || r.Kind == Offer) && r.Outcome == Done &&
				r.Returned < act.Called {
				newest[act.Mark] = max(newest[act.Mark], r.Seq)
			}
		}
	}
	return newest
}

// lastRollback returns the last roll-back of a location up to a moment, nil where there was none. What another one had
// held back comes in the moment of one to a later version.
func (d *delays) lastRollback(l *FinalLocation, upTo uint64) (last *FinalAct) {
	for i := range d.Acts {
		a := &d.Acts[i]
		if a.Verb == verbRollback && a.Moment <= upTo && a.about(l.Name) {
			last = a
		}
	}
	return last
}

// check checks a target that a location got by itself.
func (d *delays) check(place int, t *FinalTarget) (found findings) {
	l := &d.Locations[place]
	for i := range place + 1 {
		if at := d.givenUp(&d.Locations[i], t.Seq, t.Assigned); at != 0 {
			found.add(d.Rollout, "%s got version %d at %d, and %s had given it up at %d",
				l.Name, t.Seq, t.Assigned, d.Locations[i].Name, at)
		}
	}
	for _, a := range d.Acts {
		if a.Verb == verbWithdraw && a.Seq == t.Seq && a.Moment < t.Assigned {
			found.add(d.Rollout, "%s got version %d at %d, and it was withdrawn at %d",
				l.Name, t.Seq, t.Assigned, a.Moment)
		}
	}
	if a := d.lastRollback(l, t.Assigned); a != nil && t.Seq > a.Seq && t.Seq <= d.newest[a.Mark] {
		found.add(d.Rollout, "%s got version %d at %d, and was rolled back to %d at %d, when that was there",
			l.Name, t.Seq, t.Assigned, a.Seq, a.Moment)
	}
	if why := d.notYet(place, t); why != "" {
		found.add(d.Rollout, "%s got version %d as generation %d by %s: %s",
			l.Name, t.Seq, t.Generation, t.Cause, why)
	}
	return found
}

// givenUp returns when a location had given a version up, before some moment; 0 where it had not, or had got it again.
func (d *delays) givenUp(l *FinalLocation, seq, before uint64) (at uint64) {
	for i := range l.Targets {
		if t := &l.Targets[i]; t.Seq == seq && t.Assigned < before {
			at = 0
			if t.Abandoned < before {
				at = t.Abandoned
			}
		}
	}
	return at
}

// notYet says why a location could not be given a version yet, empty if it could. It may follow any location before it
// where all between may have been bypassed.
func (d *delays) notYet(place int, t *FinalTarget) (why string) {
	var delay time.Duration
	for i := place - 1; i >= 0; i-- {
		delay += d.Locations[i+1].Delay
		before := &d.Locations[i]
		if why = d.notFrom(before, delay, t); why == "" || !d.bypassed[before.Name] {
			return why
		}
	}
	return "" // it may have taken what was published
}

// notFrom says why a location could not be given a version because of another one that it follows with a delay.
func (d *delays) notFrom(before *FinalLocation, delay time.Duration, t *FinalTarget) (why string) {
	waived, known := false, false
	why = fmt.Sprintf("%s never had it", before.Name)
	for i := range before.Targets {
		from := &before.Targets[i]
		if from.Seq != t.Seq {
			continue
		}
		known, waived = true, waived || from.Waived
		ripe := from.Reached + uint64(delay.Milliseconds())
		if from.Reached != 0 && ripe <= t.Assigned && (from.Abandoned == 0 || from.Abandoned >= t.Assigned) {
			why = ""
			break
		}
		why = fmt.Sprintf("at %d, and for %s it is %+v, with a delay of %v", t.Assigned, before.Name, *from, delay)
	}
	if !known && before.Cut {
		return ""
	}
	if why != "" || waived {
		return why
	}
	return d.notByReports(before, delay, t)
}

// notByReports says why a location was shown a version earlier than the reports of the one before it allow.
func (d *delays) notByReports(before *FinalLocation, delay time.Duration, t *FinalTarget) (why string) {
	shown := d.shown[t.Generation]
	if shown == nil {
		return ""
	}
	at, ok := d.reached[reachedKey{before.Name, t.Seq}]
	least := time.Duration(float64(delay) * (1 - clockSlack))
	if !ok || shown.At-at < least {
		return fmt.Sprintf("it was shown at %v, and in %s the first report of it began at %v (%v), with a delay of %v",
			shown.At, before.Name, at, ok, delay)
	}
	return ""
}
