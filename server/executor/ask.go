package executor

import (
	"context"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// Forecast is the steps that the governor would take, and why they end.
type Forecast = plan.Forecast[governor.Action]

// Step is an open step, in words.
type Step struct {
	plan.Step[governor.Action]
	Text string
}

// View is the governor's view of the cluster now.
func (e *Executor) View() (governor.View, error) {
	e.mu.Lock()
	t := e.term
	e.mu.Unlock()
	if t == nil {
		return governor.View{}, ErrNotGoverning
	}
	v, ok := t.look()
	if !ok {
		return governor.View{}, ErrNotGoverning
	}
	return v, nil
}

// Plan plays the governor's steps as if all went well, and changes nothing. The texts describe the steps.
func (e *Executor) Plan() (f Forecast, texts []string, err error) {
	v, err := e.View()
	if err != nil {
		return f, nil, err
	}
	f = e.planner.DryRun(v, dryRunSteps)
	for i := range f.Steps {
		texts = append(texts, e.describe(v, &f.Steps[i].Proposal))
	}
	return f, texts, nil
}

// Steps are the open steps.
func (e *Executor) Steps() ([]Step, error) {
	v, err := e.View()
	if err != nil {
		return nil, err
	}
	var list []Step
	for _, s := range v.Plan.Steps() {
		list = append(list, Step{s, e.describe(v, &s.Proposal)})
	}
	return list, nil
}

// Recovery returns how a shard is made anew whose majority is lost for good. Each host is asked once more whether it
// lives, because the governor may have heard a host that is dead by now, or not yet a host that has returned: no host
// is expelled that answers, and the shard goes to none that does not.
func (e *Executor) Recovery(ctx context.Context, id hosts.ShardID, empty bool) (n hosts.Recovery, err error) {
	e.mu.Lock()
	t := e.term
	e.mu.Unlock()
	if t == nil {
		return n, ErrNotGoverning
	}
	answer := t.askAll(ctx)
	v, ok := t.look()
	if !ok {
		return n, ErrNotGoverning
	}
	n = governor.Recover(v, id, empty)
	for _, lost := range n.Lost {
		if answer[lost] && n.Against == "" {
			n.Against = fmt.Sprintf("host %s has answered just now, and is not lost; look again",
				v.State.Host(lost).Name)
		}
	}
	if h := v.State.Host(n.Host); h != nil && !answer[n.Host] && n.Against == "" {
		n.Against = fmt.Sprintf("host %s, which would go on with the shard, does not answer just now; look again",
			h.Name)
	}
	return n, nil
}

// Why says why the governor waits, and which steps are due. An empty list says that everything is in order.
func (e *Executor) Why() ([]plan.Reason, error) {
	v, err := e.View()
	if err != nil {
		return nil, err
	}
	return governor.Why(e.planner, v), nil
}

// Redundancies are how much each shard can lose and go on.
func (e *Executor) Redundancies() ([]governor.Redundancy, error) {
	v, err := e.View()
	if err != nil {
		return nil, err
	}
	return governor.Redundancies(v), nil
}

func (e *Executor) describe(v governor.View, pr *plan.Proposal[governor.Action]) string {
	i := slices.IndexFunc(e.planner.Types, func(t plan.Type[*hosts.Records, *governor.Seen, governor.Action]) bool {
		return t.Kind == pr.Kind
	})
	return e.planner.Types[i].Describe(v, pr)
}
