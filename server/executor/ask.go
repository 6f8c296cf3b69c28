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

// Forecast lists the steps the governor would take, and the reason for the end of the list.
type Forecast = plan.Forecast[governor.Action]

// Step describes an open step as text.
type Step struct {
	plan.Step[governor.Action]
	Text string
}

// View returns the governor's current view of the cluster.
func (e *Executor) View() (governor.View, error) {
	if v, ok := e.governing().look(); ok {
		return v, nil
	}
	return governor.View{}, ErrNotGoverning
}

// governing returns the term in which the host governs, or nil.
func (e *Executor) governing() *term {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term
}

// Plan simulates the governor's steps on the assumption that every succeeds, and changes nothing. The texts describe
// the steps.
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

// Steps returns the open steps.
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

// Recovery returns how to rebuild a shard that has lost its quorum. It first asks all hosts for a report, because the
// view is a few seconds old: a lost host may have returned since, and the surviving host may have failed.
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

// Choose returns the hosts for the first replicas of so many added shards, or why there is none for one of them.
func (e *Executor) Choose(shards int) (on []shard.HostID, against string, err error) {
	v, err := e.View()
	if err != nil {
		return nil, "", err
	}
	on, against = governor.Choose(v, shards)
	return on, against, nil
}

// contradiction returns the reason if the hosts' answers rule out a recovery: a lost host has answered, or the
// surviving host has not.
func contradiction(v governor.View, n *hosts.Recovery, answered map[shard.HostID]bool) string {
	for _, id := range n.Lost {
		if answered[id] {
			return fmt.Sprintf("host %s, which would be expelled, answers; check the host, and stop it if it is lost",
				v.State.Host(id).Name)
		}
	}
	if h := v.State.Host(n.Host); h != nil && !answered[n.Host] {
		return fmt.Sprintf("host %s, which would continue the shard, does not answer; check the host", h.Name)
	}
	return ""
}

// Why returns the reasons why the governor waits, and the due steps. An empty list means that nothing is pending.
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
