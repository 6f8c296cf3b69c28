package plan_test

import (
	"fmt"

	"github.com/signalbox/signalbox/shard/plan"
)

// Lamps are to be lit, one after another. The state lists the wanted lamps; observations list lit lamps.
type (
	wish map[string]bool
	seen map[string]bool
	view = plan.View[wish, seen, struct{}]
)

const light plan.Kind = 1

var config = &plan.Config[struct{}]{Open: 1, Delay: 1000, MaxDelay: 60_000, Attempts: 5,
	Append: func(dst []byte, _ struct{}) []byte { return dst },
	Read:   func([]byte) (struct{}, error) { return struct{}{}, nil },
}

var planner = plan.Planner[wish, seen, struct{}]{
	Rules: []plan.Rule[wish, seen, struct{}]{{Name: "dark", Find: func(v view) (f plan.Finding[struct{}]) {
		for _, lamp := range []string{"a", "b"} {
			if v.State[lamp] && !v.Seen[lamp] {
				f.Steps = append(f.Steps, plan.Proposal[struct{}]{Kind: light, Subject: plan.Subject(lamp)})
			}
		}
		return f
	}}},
	Types: []plan.Type[wish, seen, struct{}]{{Kind: light, Name: "lighting",
		Reached: func(v view, s *plan.Step[struct{}]) (plan.Phase, bool) { return 0, v.Seen[string(s.Subject)] },
		Model: func(v view, s *plan.Step[struct{}]) (wish, seen) {
			next := seen{string(s.Subject): true}
			for lamp := range v.Seen {
				next[lamp] = true
			}
			return v.State, next
		},
	}},
}

// Example: a leader's executor dies after its action. The next leader's executor observes the result.
func Example() {
	v := view{State: wish{"a": true, "b": true}, Seen: seen{}, Plan: plan.New(config), Now: 500}
	for _, step := range planner.DryRun(v, 10).Steps {
		fmt.Println("would begin", step.Kind, step.Subject)
	}

	d := planner.Next(v) // at the leader in term 1, which proposes the decision
	id, out := v.Plan.Begin(plan.Moment{Now: 500, Term: 1}, 1, d.Revision, *d.Step)
	fmt.Println("step", id, out)
	old := v.Plan.Step(id).Act(1)

	advice, _ := planner.Assess(v, id)
	fmt.Println("perform:", advice == plan.Perform)
	v.Seen["a"] = true // the executor acts, and dies before its report

	advice, _ = planner.Assess(v, id) // at the leader in term 2
	fmt.Println("finish:", advice == plan.Finish)
	fmt.Println("done:", v.Plan.Done(plan.Moment{Now: 600, Term: 2}, v.Plan.Step(id).Act(2)))
	fmt.Println("by the leader of before:", v.Plan.Done(plan.Moment{Now: 600, Term: 2}, old))

	d = planner.Next(v)
	id, _ = v.Plan.Begin(plan.Moment{Now: 600, Term: 2}, 2, d.Revision, *d.Step)
	v.Plan.Fail(plan.Moment{Now: 700, Term: 2}, v.Plan.Step(id).Act(2), "no oil")
	v.Now = 900
	for _, reason := range planner.Next(v).Reasons {
		fmt.Println(reason.Rule+":", reason.Text)
	}
	// Output:
	// would begin 1 a
	// would begin 1 b
	// step 1 applied
	// perform: true
	// finish: true
	// done: applied
	// by the leader of before: of another term
	// dark: lighting of b waits 801 ms after failure 1: no oil
}
