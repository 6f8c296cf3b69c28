package rollout

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Alter gives the rollout a new spec, without changing targets. A location missing in the new spec is deleted with its
// history. The next location inherits the deleted location's delay, unless the new spec changes the next location's own
// delay.
func (r *Rollout) Alter(at At, spec kind.Spec, by kind.ChangeInfo) Answer {
	if wrong := spec.Check(); wrong != "" {
		return refuse(protocol.StatusBadRequest, "%s", wrong)
	}
	if !codec.FitText(kind.MaxText, by.Author, by.Reason) {
		return refuse(protocol.StatusBadRequest, "author or reason is too long")
	}
	if before := r.Spec(); !at.mayGrow(specSize(&spec) - specSize(&before)) {
		return noRoom()
	}
	r.apply(at, spec.Clone())
	r.remember(at, kind.Action{Kind: kind.Altered, By: by})
	r.run(at, true)
	return Answer{}
}

// apply puts a spec into force.
func (r *Rollout) apply(at At, spec kind.Spec) {
	if now := r.Spec(); !now.Equal(&spec) {
		r.specRevision = at.Revision
	}
	old := r.locations
	r.rules = spec
	r.rules.Locations = nil
	r.locations = make([]*Location, len(spec.Locations))
	for k, ls := range spec.Locations {
		l := find(old, ls.Name)
		if l == nil {
			r.lastLocation++
			l = &Location{ID: r.lastLocation, Spec: ls, TargetRevision: at.Revision}
		}
		r.locations[k] = l
	}
	inherited := make([]uint64, len(r.locations))
	for k, l := range r.locations {
		if k > 0 && l.Spec.Delay == spec.Locations[k].Delay {
			inherited[k] = inherits(old, r.locations, r.locations[k-1], l)
		}
	}
	for k, l := range r.locations {
		l.index, l.Inherited, l.Spec = k, inherited[k], spec.Locations[k]
		l.setGates()
		r.changeLocation(at, l)
	}
	for _, l := range old {
		if find(r.locations, l.Spec.Name) == nil {
			at.changeRow(locationRow(l.ID))
			r.forget(at, l)
		}
	}
	if r.rules.Versions != kind.Asked {
		r.changeTicket(at, Ticket{})
	}
	for _, l := range r.locations {
		r.makeRoom(l, r.rules.KeepVersions, at.Now)
	}
	r.changeHead(at)
}

// forget removes a deleted location from the versions' lists of abandoning locations.
func (r *Rollout) forget(at At, l *Location) {
	for _, v := range r.versions {
		r.setAbandoned(at, v, l, false)
	}
}

// inherits returns the delay a location inherits from deleted locations directly between the location and its
// predecessor. A location with a new predecessor inherits nothing, because the position is new.
func inherits(old, now []*Location, before, l *Location) uint64 {
	sum, between := l.Inherited, false
	for _, o := range old {
		switch {
		case o == before:
			between = true
		case o == l:
			if between {
				return sum
			}
			return 0
		case between && find(now, o.Spec.Name) == nil:
			sum += o.Delay()
		}
	}
	return 0
}

func find(list []*Location, name string) *Location {
	return first(list, func(l *Location) bool { return l.Spec.Name == name })
}

// first returns the first matching location, or nil.
func first(list []*Location, is func(*Location) bool) *Location {
	if k := slices.IndexFunc(list, is); k >= 0 {
		return list[k]
	}
	return nil
}
