package plan

import (
	"fmt"
	"slices"
)

// View is the input for rules.
type View[S, O, P any] struct {
	State S // replicated: equal for every leader
	Seen  O // the present leader's observations: facts that are not in any log
	Plan  *Plan[P]
	Now   uint64 // shard time in milliseconds
}

// Rule is one reason to change something. Rules are listed in priority order.
type Rule[S, O, P any] struct {
	Name string
	// Find is a pure function: equal views have equal findings. Find may read the plan, to see the open steps.
	Find func(v View[S, O, P]) Finding[P]
}

// Finding is a rule's result. The zero value means that the rule does not concern the view.
type Finding[P any] struct {
	// Steps are the steps the rule wants, the best first. The planner takes the first step the plan admits, so a
	// waiting subject does not block the others.
	Steps []Proposal[P]
	// Reasons explain what the rule would do, and why it cannot.
	Reasons []Reason
	// Hold makes the planner skip all later rules, if the plan admits no step from this rule.
	Hold bool
}

// Code identifies a reason for programs. The package defines those below; rules define their own.
type Code string

// The package's reasons.
const (
	CodeOpen     Code = "step-open"     // a step is under way
	CodeWaiting  Code = "step-waiting"  // a step is open, has failed, and waits
	CodeOccupied Code = "occupied"      // a step is wanted, and an open step has its subject or the last free slot
	CodeBackoff  Code = "backoff"       // a step is wanted, and its subject has failed and waits
	CodeRefused  Code = "beyond-limits" // a step is wanted that no plan accepts, or that supersedes a step that is over
)

// Reason explains why something is not progressing.
type Reason struct {
	Rule     string // the rule that gave the reason; empty for open steps
	Code     Code
	Subjects []Subject
	Text     string
	// Since is when the reason began to hold, Until when it ends automatically, in shard time; 0 is unknown.
	Since, Until uint64
}

// Decision is the next step, or the reasons against any step.
type Decision[P any] struct {
	// Step is the step to begin, or nil; Rule is the rule that wants the step, Revision the argument for Begin.
	Step     *Proposal[P]
	Rule     string
	Revision uint64
	// Reasons come from the open steps, and from every rule asked, in rule order. Without a step and without reasons
	// everything is healthy.
	Reasons []Reason
	// Wake is the shard time at which time alone may change the decision, or 0.
	Wake uint64
}

// Type describes how to judge one kind of step. All its functions are pure.
type Type[S, O, P any] struct {
	Kind Kind
	Name string
	// Describe describes a step in words, for reasons. Nil uses the kind's name and the subject.
	Describe func(v View[S, O, P], pr *Proposal[P]) string
	// Reached derives from visible facts how far a step has progressed, and whether it has reached its goal. Executors
	// report nothing else.
	Reached func(v View[S, O, P], s *Step[P]) (to Phase, done bool)
	// Judge decides whether an executor may act on a step on the way to its goal: Perform, Wait, or Drop if the step is
	// no longer wanted or allowed. Nil means Perform. A rule must not propose a step that Judge drops.
	Judge func(v View[S, O, P], s *Step[P]) Advice
	// Model returns the state and the observations after the step, for dry runs. It changes nothing in place.
	Model func(v View[S, O, P], s *Step[P]) (S, O)
}

// Planner is an ordered list of rules, and the step kinds the rules propose.
type Planner[S, O, P any] struct {
	Rules []Rule[S, O, P]
	Types []Type[S, O, P]
	// Pass returns the state and the observations after some milliseconds without any act, for dry runs. It changes
	// nothing in place; nil leaves both unchanged.
	Pass func(v View[S, O, P], millis uint64) (S, O)
}

// Next returns the first admitted step from the first rule that has one, and otherwise all reasons.
func (pl *Planner[S, O, P]) Next(v View[S, O, P]) Decision[P] {
	d := Decision[P]{Revision: v.Plan.Revision()}
	for i := range v.Plan.steps {
		d.Reasons = append(d.Reasons, pl.open(v, &v.Plan.steps[i]))
	}
	for _, rule := range pl.Rules {
		f := rule.Find(v)
		for i := range f.Steps {
			r, admitted := pl.blocked(v, &f.Steps[i])
			if admitted {
				d.Step, d.Rule = &f.Steps[i], rule.Name
				break
			}
			r.Rule = rule.Name
			d.Reasons = append(d.Reasons, r)
		}
		for _, r := range f.Reasons {
			r.Rule = rule.Name
			d.Reasons = append(d.Reasons, r)
		}
		if d.Step != nil || f.Hold {
			break
		}
	}
	for _, r := range d.Reasons {
		if r.Until > v.Now && (d.Wake == 0 || r.Until < d.Wake) {
			d.Wake = r.Until
		}
	}
	return d
}

// blocked returns why the plan does not admit a proposal.
func (pl *Planner[S, O, P]) blocked(v View[S, O, P], pr *Proposal[P]) (r Reason, admitted bool) {
	if !v.Plan.fits(pr) {
		text := pl.name(v, pr) + " exceeds the plan's limits"
		return Reason{Code: CodeRefused, Subjects: subjects(pr), Text: text}, false
	}
	out, other := v.Plan.admits(pr, v.Now)
	r = Reason{Code: CodeOccupied, Subjects: subjects(pr)}
	switch {
	case out == Applied:
		return r, true
	case out == Over:
		r.Code = CodeRefused
		r.Text = fmt.Sprintf("%s supersedes step %d, which is over", pl.name(v, pr), pr.Supersedes)
	case out == Waits:
		b := v.Plan.Backoff(pr.Subject)
		r.Code, r.Since, r.Until = CodeBackoff, b.Since, b.Until
		r.Text = fmt.Sprintf("%s waits %d ms%s", pl.name(v, pr), b.Until-v.Now, cause(b.Failures, b.LastError))
	case other != nil:
		r.Since = other.Started
		r.Text = fmt.Sprintf("%s waits for step %d, %s", pl.name(v, pr), other.ID, pl.name(v, &other.Proposal))
	default:
		r.Text = fmt.Sprintf("%s waits for one of %d open steps to end", pl.name(v, pr), len(v.Plan.steps))
	}
	return r, false
}

// open returns the reason for an open step.
func (pl *Planner[S, O, P]) open(v View[S, O, P], s *Step[P]) Reason {
	r := Reason{Code: CodeOpen, Subjects: subjects(&s.Proposal), Since: s.Entered}
	r.Text = fmt.Sprintf("step %d, %s, is in phase %d%s", s.ID, pl.name(v, &s.Proposal), s.Phase,
		cause(s.Failures, s.LastError))
	if s.NotBefore > v.Now {
		r.Code, r.Until = CodeWaiting, s.NotBefore
	}
	return r
}

// cause explains why a subject waits, or has been tried before.
func cause(failures uint32, last string) string {
	switch {
	case failures > 0:
		return fmt.Sprintf(" after failure %d: %s", failures, last)
	case last != "":
		return ": " + last
	}
	return ""
}

func subjects[P any](pr *Proposal[P]) []Subject {
	return append([]Subject{pr.Subject}, pr.With...)
}

// kind returns the Type for a step kind. A kind without a Type is a programming error: kind panics.
func (pl *Planner[S, O, P]) kind(k Kind) *Type[S, O, P] {
	i := slices.IndexFunc(pl.Types, func(t Type[S, O, P]) bool { return t.Kind == k })
	if i < 0 {
		panic(fmt.Sprintf("plan: the planner has no step kind %d", k))
	}
	return &pl.Types[i]
}

// name describes a step in words, by its kind and its subject.
func (pl *Planner[S, O, P]) name(v View[S, O, P], pr *Proposal[P]) string {
	kind := pl.kind(pr.Kind)
	if kind.Describe != nil {
		return kind.Describe(v, pr)
	}
	return kind.Name + " of " + string(pr.Subject)
}
