package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// newRollout returns the commands about staged rollouts.
func newRollout(f *cli.Frame) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "rollout",
		Short: "Versions that reach locations in an order: create, publish, status, promote and more",
		Long: `A rollout hands versions out to instances, location after location: SAS at once, MAN
5 s after SAS, VLA 5 s after MAN. A location gets the next version when all its leaders
have reached the one that it has, and the version was reached in the location before for
the delay. Gates must be passed, versions that instances cannot use are given up, and
operators can pause, promote, abort and go back at any time.

Instances are programs that use package client/rollout, or signalbox rollout follow.`,
	})
	c.AddCommand(newRolloutCreate(f), newRolloutAlter(f), newRolloutSpec(f), newRolloutStatus(f), newRolloutWhy(f),
		newRolloutHistory(f), newRolloutInstances(f), newRolloutPayload(f), newRolloutPlan(f), newRolloutPublish(f),
		newRolloutFollow(f), newRolloutGate(f), newRolloutSource(f))
	return f.Command(c)
}

// The variables that a command of a rollout finds in its environment, beside that of the node.
const (
	rolloutVariable    = "SIGNALBOX_ROLLOUT"
	locationVariable   = "SIGNALBOX_LOCATION"
	instanceVariable   = "SIGNALBOX_INSTANCE"
	gateVariable       = "SIGNALBOX_GATE"
	versionVariable    = "SIGNALBOX_VERSION"
	generationVariable = "SIGNALBOX_GENERATION"
	labelVariable      = "SIGNALBOX_LABEL"
	attemptVariable    = "SIGNALBOX_ATTEMPT"
)

// newRolloutRunner returns what runs the commands of a rollout.
func newRolloutRunner(f *cli.Frame) sessionRunner {
	return sessionRunner{commandRunner: commandRunner{Frame: f}, nameVariable: rolloutVariable}
}

// targetVariables are the variables that say which target a command is for.
func targetVariables(location string, seq uint64, label string) map[string]string {
	return map[string]string{locationVariable: location, versionVariable: fmt.Sprint(seq), labelVariable: label}
}

// completeRollouts completes the name of a rollout in the node that the first argument is the path of.
func completeRollouts(f *cli.Frame) cli.Completion {
	return f.CompleteBy(func(ctx context.Context, box *client.Client, args []string, begun string,
		add func(text string) bool) {
		for s, err := range rollout.List(ctx, box, args[0], rollout.Prefix(begun)) {
			if err != nil || !add(s.Name) {
				return
			}
		}
	})
}

// completeLocations completes a location of the rollout that the first two arguments name.
func completeLocations(f *cli.Frame) cli.Completion {
	return completeParts(f, func(s *rollout.State, add func(string) bool) {
		for _, l := range s.Locations {
			add(l.Name)
		}
	})
}

// completeVersions completes the number of a version of the rollout that the first two arguments name.
func completeVersions(f *cli.Frame) cli.Completion {
	return completeParts(f, func(s *rollout.State, add func(string) bool) {
		for _, v := range s.Versions {
			add(strconv.FormatUint(v.Seq, 10))
		}
	})
}

// completeParts completes what a rollout has of something.
func completeParts(f *cli.Frame, each func(s *rollout.State, add func(string) bool)) cli.Completion {
	return f.CompleteBy(func(ctx context.Context, box *client.Client, args []string, _ string,
		add func(text string) bool) {
		if len(args) < 2 {
			return
		}
		if s, err := rollout.Of(box, args[0], args[1]).Describe(ctx); err == nil {
			each(s, add)
		}
	})
}
