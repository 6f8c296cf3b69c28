package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// manyRollouts is how many rollouts that are on their way are looked into for locations that are stuck.
const manyRollouts = 200

// checkRollouts finds the rollouts that wait for an operator: those that have halted, and those with a location that
// has not reached its target within the progress deadline.
func checkRollouts(ctx context.Context, box *client.Client, x *findings) {
	all, looked := 0, 0
	var halted, stuck []string
	list := eachInNodes(ctx, box, nil, func(n *client.Node) iter.Seq2[*rollout.Summary, error] {
		return rollout.List(ctx, box, n.Path())
	})
	for s, err := range list {
		switch {
		case errors.Is(err, client.ErrUnsupported), errors.Is(err, client.ErrUnauthorized):
			return // there can be none, or none is for this user
		case err != nil:
			x.add(levelWarn, "rollouts", "try again", "they cannot be listed: %s", cli.Explain(err))
			return
		}
		all++
		name := fmt.Sprintf("%s in %s", cli.Safe(s.thing.Name), cli.Safe(s.path))
		switch s.thing.Phase {
		case rollout.Idle, rollout.Paused:
		case rollout.Halted:
			halted = append(halted, name)
		default:
			if looked++; looked <= manyRollouts {
				stuck = append(stuck, stuckLocations(ctx, box, s.path, s.thing.Name)...)
			}
		}
	}
	if all == 0 {
		return
	}
	x.none(levelWarn, "halted rollouts", halted, fmt.Sprintf("none of %d", all), "these wait for an operator: %s",
		"signalbox rollout why says why, signalbox rollout resume lets one go on")
	x.none(levelWarn, "stuck rollouts", stuck, fmt.Sprintf("none of %d", all),
		"these have not reached their targets in time: %s",
		"signalbox rollout why says who is waited for, signalbox rollout instances how they get on")
}

// stuckLocations are the locations of a rollout that are stuck. A rollout that goes meanwhile has none.
func stuckLocations(ctx context.Context, box *client.Client, path, name string) []string {
	s, err := rollout.Of(box, path, name).Describe(ctx)
	if err != nil {
		return nil
	}
	var stuck []string
	for i := range s.Locations {
		if s.Locations[i].Stuck {
			stuck = append(stuck, cli.Safe(s.Locations[i].Name))
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s (%s) in %s", cli.Safe(name), strings.Join(stuck, " and "), cli.Safe(path))}
}
