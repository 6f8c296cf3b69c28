package rollout

import "fmt"

// Clone returns a rollout that shares nothing with this one, and that no instance has joined.
func (r *Rollout) Clone() *Rollout {
	c, err := Load(r.Save(nil))
	if err != nil {
		panic(fmt.Sprintf("a rollout cannot be loaded as it was saved: %v", err))
	}
	return c
}

// Planned is one step of a dry run: a location gets a version.
type Planned struct {
	At       uint64 // shard time
	Location string
	Seq      uint64
	Cause    Cause
}

// DryRun returns who gets what when, from now on, if every leader reaches each target after a time in milliseconds,
// every gate passes then, no further version comes, and nothing else happens. A location without live leaders stays
// without; and nothing moves in a rollout that is paused or has halted, unless resume is set: then it is as if an
// operator resumed it now. Nothing is changed. What an act would lead to is seen by a Clone that carries it out first,
// which has to be given the Counts of the rollout: see DryRunOf.
func (r *Rollout) DryRun(now, takes uint64, resume bool) []Planned {
	return DryRunOf(r.Clone(), r, now, takes, resume)
}

// DryRunOf is DryRun for a clone that has carried out further commands. The live leaders are those of the rollout that
// it was cloned from. The clone is of no use afterwards.
func DryRunOf(clone, from *Rollout, now, takes uint64, resume bool) []Planned {
	var out Effects
	at := At{Now: now, Revision: 1, Out: &out}
	d := dryRun{Rollout: clone, takes: takes}
	d.rules.Source = SourcePublished // no source is asked in earnest
	for _, l := range from.locations {
		mirror := d.byID(l.ID)
		if mirror == nil || l.Counts.Instances == 0 {
			continue
		}
		i := &Instance{ID: uint64(len(d.stand) + 1), Name: l.Spec.Name, Location: l.Spec.Name, location: l.ID}
		if l.Counts.Leaders > 0 {
			i.Role = Leader
		}
		if t := mirror.Target(); t != nil && t.Generation == l.generation() && l.satisfied() {
			i.Current, i.Generation, i.Sent = t.Seq, t.Generation, t.Generation
		}
		if err := d.Attach(i); err != nil {
			panic(err)
		}
		mirror.Spec.Require = 0
		d.stand = append(d.stand, i)
	}
	if resume {
		d.resume(at)
	}
	d.run(at, true)
	for len(d.steps) < MaxPlanned {
		d.collect(at)
		next := d.nextReport()
		if due, ok := d.NextDue(); ok && (next == 0 || due < next) {
			next = due
		}
		if next == 0 {
			break
		}
		at.Now = max(next, at.Now)
		at.Revision++
		out.Reset()
		d.report(at)
		d.Due(at)
	}
	return d.steps
}

// dryRun is a rollout in which one instance stands for all of each location.
type dryRun struct {
	*Rollout
	takes uint64
	stand []*Instance
	steps []Planned
}

func (l *Location) generation() uint64 {
	if t := l.Target(); t != nil {
		return t.Generation
	}
	return 0
}

// collect takes the new targets over as steps.
func (d *dryRun) collect(at At) {
	for _, e := range at.Out.Events {
		if e.Kind == EventAssigned {
			d.steps = append(d.steps, Planned{At: at.Now, Location: e.Location, Seq: e.Seq, Cause: e.Cause})
		}
	}
}

// waits returns the target that an instance has not reached yet, nil where it has.
func (d *dryRun) waits(i *Instance) *Row {
	t := d.byID(i.location).Target()
	if i.Role != Leader || t == nil || i.Generation == t.Generation || t.Abandoned != 0 {
		return nil
	}
	return t
}

// nextReport is when the next instance has reached its target, 0 where none is on the way.
func (d *dryRun) nextReport() uint64 {
	next := uint64(0)
	for _, i := range d.stand {
		if t := d.waits(i); t != nil {
			if at := t.Assigned - 1 + d.takes; next == 0 || at < next {
				next = max(at, 1)
			}
		}
	}
	return next
}

// report lets the instances report that have reached their targets, and passes their gates.
func (d *dryRun) report(at At) {
	for _, i := range d.stand {
		t := d.waits(i)
		if t == nil || t.Assigned-1+d.takes > at.Now {
			continue
		}
		l := d.byID(i.location)
		for k := range l.Gates {
			l.Gates[k].Verdict = VerdictPassed
		}
		a := d.Report(at, i, Report{Current: t.Seq, Generation: t.Generation})
		if a.Status != 0 {
			panic("rollout: a dry run is refused: " + a.Text)
		}
	}
}
