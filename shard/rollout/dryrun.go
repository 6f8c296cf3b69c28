package rollout

import (
	"slices"

	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// Rehearsal is a copy of a rollout for a dry run: it computes when each location would get which version. One simulated
// instance represents all instances in a location. The methods are not safe for concurrent use; the real rollout may go
// on meanwhile.
type Rehearsal struct {
	*Rollout
	now      uint64
	revision uint64
	out      Effects
	takes    uint64
	stand    []*Instance
	steps    []kind.Step
}

// Rehearse begins a dry run at a shard time.
func (r *Rollout) Rehearse(now uint64) *Rehearsal {
	d := &Rehearsal{Rollout: r.bare(), now: now}
	d.rules.Versions = kind.Published // so that the dry run asks no source
	for k, l := range r.locations {
		if l.Counts.Instances > 0 {
			d.place(d.locations[k], l)
		}
	}
	return d
}

// bare returns a copy without payloads, audit entries and instances. The copy shares nothing mutable with the rollout.
// It is made under the machine's lock.
func (r *Rollout) bare() *Rollout {
	c := *r
	c.byName, c.audit, c.payloads, c.sources = make(map[string]*Instance), nil, 0, slices.Clone(r.sources)
	c.versions, c.locations = make([]*Version, len(r.versions)), make([]*Location, len(r.locations))
	for k, v := range r.versions {
		copied := *v
		copied.Payload, copied.Abandoned = nil, slices.Clone(v.Abandoned)
		c.versions[k] = &copied
	}
	for k, l := range r.locations {
		copied := *l
		copied.History, copied.Gates = slices.Clone(l.History), slices.Clone(l.Gates)
		copied.Counts, copied.explicit, copied.suspects = kind.Counts{}, [roles]int{}, [roles]suspects{}
		c.locations[k] = &copied
	}
	return &c
}

// place adds the instance that represents a location's instances.
func (re *Rehearsal) place(mirror, l *Location) {
	i := &Instance{ID: uint64(len(re.stand) + 1), Name: l.Spec.Name, Location: l.Spec.Name, location: l.ID}
	if l.Counts.Leaders > 0 {
		i.Role = Leader
	}
	if t := l.Target(); t != nil && l.satisfied() {
		i.Current, i.Generation, i.Sent = t.Seq, t.Generation, t.Generation
	}
	if err := re.Attach(i); err != nil {
		panic(err)
	}
	mirror.Spec.Require = 0
	re.stand = append(re.stand, i)
}

// at is the time for the rehearsal's next command.
func (re *Rehearsal) at() At {
	re.revision++
	re.out.Reset()
	return At{Now: re.now, Revision: re.revision, Out: &re.out}
}

// Publish continues as if a version was published now.
func (re *Rehearsal) Publish() Answer {
	a := re.Rollout.Publish(re.at(), kind.Publication{})
	re.collect()
	return a
}

// Act continues as if an operator took the action now.
func (re *Rehearsal) Act(act kind.Action) Answer {
	a := re.Rollout.Act(re.at(), act)
	re.collect()
	return a
}

// Run returns the rollout's steps, assuming that every leader reaches each target after the given milliseconds, every
// gate passes then, and nothing else happens. The steps count from the start of shard time, as all views do. A location
// without live leaders stays without, and a paused or halted rollout does not advance. The rehearsal cannot be used
// afterwards.
func (re *Rehearsal) Run(takes uint64) []kind.Step {
	re.takes = takes
	re.run(re.at(), true)
	for len(re.steps) < kind.MaxPlanned {
		re.collect()
		next := re.nextReport()
		if due, ok := re.NextDue(); ok && (next == 0 || due < next) {
			next = due
		}
		if next == 0 {
			break
		}
		re.now = max(next, re.now)
		at := re.at()
		re.report(at)
		re.Due(at)
	}
	return re.steps[:min(len(re.steps), kind.MaxPlanned)]
}

// collect appends the new targets as steps.
func (re *Rehearsal) collect() {
	for _, e := range re.out.Events {
		if e.Kind == eventAssigned {
			step := kind.Step{After: field.Duration(re.now), Location: e.Location, Seq: e.Seq, Cause: e.Cause}
			re.steps = append(re.steps, step)
		}
	}
	re.out.Reset()
}

// waits returns the target an instance has not reached yet, nil once it has.
func (re *Rehearsal) waits(i *Instance) *Row {
	t := re.byID(i.location).Target()
	if i.Role != Leader || t == nil || i.Generation == t.Generation || t.Abandoned != 0 {
		return nil
	}
	return t
}

// nextReport is the time when the next instance has reached its target, 0 if no instance is still working on its
// target.
func (re *Rehearsal) nextReport() uint64 {
	next := uint64(0)
	for _, i := range re.stand {
		if t := re.waits(i); t != nil {
			if at := t.Assigned - 1 + re.takes; next == 0 || at < next {
				next = max(at, 1)
			}
		}
	}
	return next
}

// report makes the instances that have reached their targets report, and passes their gates.
func (re *Rehearsal) report(at At) {
	for _, i := range re.stand {
		t := re.waits(i)
		if t == nil || t.Assigned-1+re.takes > at.Now {
			continue
		}
		l := re.byID(i.location)
		for k := range l.Gates {
			l.Gates[k].Verdict = kind.GatePassed
		}
		a := re.Report(at, i, Report{Current: t.Seq, Generation: t.Generation})
		if a.Status != 0 {
			panic("rollout: a dry run is refused: " + a.Text)
		}
	}
}
