package history

import (
	"fmt"
	"time"
)

// clockSlack is the maximum relative speed difference between a host clock and the recording clock.
const clockSlack = 0.05

// Delays checks the flow of versions between locations. An automatic target must have been reached in the preceding
// location for at least the delay, must not be withdrawn or given up in any location up to there, and must not be a
// version that the location was rolled back from. Delays checks this twice: with the rollout's own record in shard
// time, and with reports and displays of instances by the recording clock.
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

// delays is the data about a rollout.
type delays struct {
	*RolloutFinal
	bypassed map[string]bool     // locations that may ever have been bypassed
	reached  map[reachedKey]Time // first report per location and version
	shown    map[uint64]*Target  // first display by generation
	newest   map[string]uint64   // newest version before an action, by the action's reason
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

// firstReached returns the earliest report of each version.
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

// firstShown returns the first display of each generation.
func firstShown(h *History, f *RolloutFinal) map[uint64]*Target {
	first := make(map[uint64]*Target)
	for i := range h.Targets { // sorted by time
		if t := &h.Targets[i]; t.Rollout == f.Rollout && first[t.Generation] == nil {
			first[t.Generation] = t
		}
	}
	return first
}

// newestBefore returns, per action reason, the newest version acknowledged before the action was sent.
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

// lastRollback returns the last roll-back of a location up to a given time, or nil. A roll-back to a later version may
// coincide with versions that an earlier roll-back held back.
func (d *delays) lastRollback(l *FinalLocation, upTo uint64) (last *FinalAct) {
	for i := range d.Acts {
		a := &d.Acts[i]
		if a.Verb == verbRollback && a.Moment <= upTo && a.about(l.Name) {
			last = a
		}
	}
	return last
}

// check checks an automatic target of a location.
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

// givenUp returns when a location had given up a version before a given time; 0 if never, or if the location got the
// version again.
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

// notYet explains why a location could not get a version yet, empty if it could. The location may follow any earlier
// location if all locations between may have been bypassed.
func (d *delays) notYet(place int, t *FinalTarget) (why string) {
	var delay time.Duration
	for i := place - 1; i >= 0; i-- {
		delay += d.Locations[i+1].Delay
		before := &d.Locations[i]
		if why = d.notFrom(before, delay, t); why == "" || !d.bypassed[before.Name] {
			return why
		}
	}
	return "" // it may have taken a published version directly
}

// notFrom explains why a location could not get a version from the preceding location with a delay.
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

// notByReports explains why a location was shown a version too early, given the reports of the preceding location.
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
