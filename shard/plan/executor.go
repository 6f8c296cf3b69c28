package plan

// Advice says what an executor does next about a step.
type Advice uint8

// The kinds of advice.
const (
	Leave   Advice = iota + 1 // the step is over: drop all work begun for the step
	Wait                      // the time of the step has not come: look again later
	Perform                   // do the work of the step in its phase
	Report                    // report the reached phase, with Plan.Progress
	Finish                    // report that the step has reached its goal, with Plan.Done
	Drop                      // report that the step is not wanted any more, with Plan.Drop
)

// Assess returns the advice to an executor about the step of an id, and for Report the phase. An executor needs no
// memory beside Assess: a new executor, at a newly elected leader, assesses like an executor that has run all along.
// Reports name only visible facts. So if an executor died between an act and its report, the next executor sees the
// effect of the act, and reports the step.
func (pl *Planner[S, O, P]) Assess(v View[S, O, P], id ID) (Advice, Phase) {
	s := v.Plan.Step(id)
	if s == nil {
		return Leave, 0
	}
	kind := pl.kind(s.Kind)
	to, done := kind.Reached(v, s)
	advice := Perform
	if kind.Judge != nil {
		advice = kind.Judge(v, s)
	}
	switch {
	case done:
		return Finish, s.Phase
	case to > s.Phase:
		return Report, to
	case advice == Drop:
		return Drop, s.Phase
	case v.Now < s.NotBefore:
		return Wait, s.Phase
	}
	return advice, s.Phase
}

// Planned is one step of a dry run.
type Planned[P any] struct {
	Proposal[P]
	Rule string // empty for a step that was open before
	ID   ID     // of a step that was open before
	At   uint64 // the shard time at which the step would begin: steps take no time, back-offs and delays do
}

// Forecast is the result of a dry run.
type Forecast[P any] struct {
	Steps   []Planned[P]
	Reasons []Reason // why nothing moves at the end; empty if all is as it should be
	Cut     bool     // the dry run reached its bound before the end
}

// DryRun plays on a copy the decisions of the planner as if every step did what its model says: first the open steps,
// then one decision after another, until nothing moves. If only time can move something, time passes. DryRun ends
// after a number of steps and passages of time. The plan itself is left as it is.
func (pl *Planner[S, O, P]) DryRun(v View[S, O, P], most int) Forecast[P] {
	v.Plan = v.Plan.Clone()
	var f Forecast[P]
	finish := func(id ID, rule string) {
		s := v.Plan.Step(id)
		known := id
		if rule != "" {
			known = 0
		}
		f.Steps = append(f.Steps, Planned[P]{Proposal: s.Proposal, Rule: rule, ID: known, At: v.Now})
		v.State, v.Seen = pl.kind(s.Kind).Model(v, s)
		v.Plan.Done(Moment{Now: v.Now}, s.Act(0))
	}
	for range most {
		if open := v.Plan.Steps(); len(open) > 0 {
			finish(open[0].ID, "")
			continue
		}
		d := pl.Next(v)
		switch {
		case d.Step != nil:
			id, out := v.Plan.Begin(Moment{Now: v.Now}, 0, d.Revision, *d.Step)
			if out != Applied {
				panic("plan: a step that the plan admits is refused: " + out.String())
			}
			finish(id, d.Rule)
		case !pl.sleep(&v, &d):
			f.Reasons = d.Reasons
			return f
		}
	}
	f.Reasons, f.Cut = pl.Next(v).Reasons, true
	return f
}

// Due returns the step that the planner comes to by itself, at once or after some time, if nothing happens but the
// passage of time. Due lets time pass a number of times at most, and returns nil if no step comes. Nothing is
// changed.
func (pl *Planner[S, O, P]) Due(v View[S, O, P], most int) *Planned[P] {
	for range most {
		d := pl.Next(v)
		if d.Step != nil {
			return &Planned[P]{Proposal: *d.Step, Rule: d.Rule, At: v.Now}
		}
		if !pl.sleep(&v, &d) {
			return nil
		}
	}
	return nil
}

// sleep lets time pass until time alone may change a decision, and reports whether time can.
func (pl *Planner[S, O, P]) sleep(v *View[S, O, P], d *Decision[P]) bool {
	if d.Wake <= v.Now {
		return false
	}
	if pl.Pass != nil {
		v.State, v.Seen = pl.Pass(*v, d.Wake-v.Now)
	}
	v.Now = d.Wake
	return true
}
