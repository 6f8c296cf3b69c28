package plan

// Advice is what the executor should do next for a step.
type Advice uint8

// The advice values.
const (
	Leave   Advice = iota + 1 // the step is over: drop all work begun for the step
	Wait                      // the step's time has not come: look again later
	Perform                   // do the step's work in its phase
	Report                    // report the reached phase, with Plan.Progress
	Finish                    // report that the step has reached its goal, with Plan.Done
	Drop                      // report that the step is no longer wanted, with Plan.Drop
)

// Assess returns the advice to an executor about the step with an id, and for Report the phase. An executor needs no
// memory beside Assess: a new executor, at a newly elected leader, assesses like an executor that was never
// interrupted. Reports name only visible facts. So if an executor died between an act and its report, the next executor
// sees the act's effect, and reports the step.
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

// Planned is one step in a dry run.
type Planned[P any] struct {
	Proposal[P]
	Rule string // empty for a step that was already open
	ID   ID     // id of a step that was already open
	At   uint64 // shard time at which the step would begin: steps take no time, back-offs and delays do
}

// Forecast is a dry run's result.
type Forecast[P any] struct {
	Steps   []Planned[P]
	Reasons []Reason // why nothing happens at the end; empty if everything is healthy
	Cut     bool     // the dry run reached its limit before the end
}

// DryRun simulates the planner's decisions on a copy, as if every step did what its model predicts: first the open
// steps, then one decision after another, until nothing happens. If only time can change a decision, time passes.
// DryRun ends after a number of steps and time jumps. The plan itself is unchanged.
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

// Due returns the step the planner reaches on its own, at once or after some time, if only time passes. Due lets time
// jump at most the given number of times, and returns nil if no step comes. Nothing is changed.
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
