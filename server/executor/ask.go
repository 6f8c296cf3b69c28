package executor

import (
	"context"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
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
	if v, ok := e.governing().look(); ok {
		return v, nil
	}
	return governor.View{}, ErrNotGoverning
}

// governing returns the term in which this host governs, or nil.
func (e *Executor) governing() *term {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term
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

// Recovery returns how a shard without a majority is made anew. All hosts are asked for a report first, because the
// view is some seconds old: a lost host may have returned since, and the surviving host may have died.
func (e *Executor) Recovery(ctx context.Context, id hosts.ShardID, empty bool) (hosts.Recovery, error) {
	t := e.governing()
	answered := t.askAll(ctx)
	v, ok := t.look()
	if !ok {
		return hosts.Recovery{}, ErrNotGoverning
	}
	n := governor.Recover(v, id, empty)
	if n.Against == "" {
		n.Against = contradiction(v, &n, answered)
	}
	return n, nil
}

// contradiction returns why the answers of hosts speak against a recovery: a lost host has answered, or the host for
// the shard has not.
func contradiction(v governor.View, n *hosts.Recovery, answered map[shard.HostID]bool) string {
	for _, id := range n.Lost {
		if answered[id] {
			return fmt.Sprintf("host %s, which would be expelled, answers: look again, and stop the host if it is lost",
				v.State.Host(id).Name)
		}
	}
	if h := v.State.Host(n.Host); h != nil && !answered[n.Host] {
		return fmt.Sprintf("host %s, which would go on with the shard, does not answer: look again", h.Name)
	}
	return ""
}

// Why says why the governor waits, and which steps are due. An empty list says that everything is in order.
func (e *Executor) Why() ([]plan.Reason, error) {
	v, err := e.View()
	if err != nil {
		return nil, err
	}
	return governor.Why(e.planner, v), nil
}

func (e *Executor) describe(v governor.View, pr *plan.Proposal[governor.Action]) string {
	i := slices.IndexFunc(e.planner.Types, func(t plan.Type[*hosts.Records, *governor.Seen, governor.Action]) bool {
		return t.Kind == pr.Kind
	})
	return e.planner.Types[i].Describe(v, pr)
}
