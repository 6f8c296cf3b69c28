package plan

// Advice says what an executor does next about a step.
type Advice uint8

// What an executor does next.
const (
	Leave   Advice = iota + 1 // the step is over: drop all that was begun for it
	Wait                      // it is not the time, or not the turn: look again later
	Perform                   // do what the step asks for in its phase
	Report                    // report the phase that was reached, with Plan.Progress
	Finish                    // report that the step has reached what it is for, with Plan.Done
	Drop                      // report that the step is not wanted any more, with Plan.Drop
)

// Assess says what an executor does next about the step of an id, and for Report the phase. It is the whole memory that
// an executor needs: one that has just begun, at a leader that has just been elected, assesses like one that has run
// all along. It reports only what can be seen. So a step whose executor died between an act and its report is reported
// by the next one, which sees what the act has done.
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
	Rule string // empty for a step that was open already
	ID   ID     // of a step that was open already
	At   uint64 // the shard time at which it would begin: steps take no time, back-offs and delays do
}

// Forecast is what a dry run comes to.
type Forecast[P any] struct {
	Steps   []Planned[P]
	Reasons []Reason // why nothing moves at the end; none where all is as it should be
	Cut     bool     // the bound was reached before that
}

// DryRun plays on a copy what the planner would do if every step did what its model says: first the steps that are
// open, then one decision after another, until nothing moves. Where only time can move something, time passes. It stops
// after so many steps and passages of time. The plan is left as it is.
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

// Due returns the step that the planner comes to by itself, where nothing is done and nothing happens but that time
// passes, at the most so many times: at once, or when it is time. It returns nil where there is none. Nothing is
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

// sleep lets time pass until that alone may change a decision, and reports whether it can.
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
