// Package rollout implements the commands for staged rollouts.
//
// Start at Command. page.go and changes.go show a rollout, as a page and as lines about changes; status.go combines
// both into the form that package liveview shows. spec.go and file.go read a spec from flags and from a file.
// follow.go, gate.go and source.go take part in a rollout with a user's command, which package runner runs.
package rollout

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
)

// Command returns the commands for staged rollouts.
func Command(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "rollout",
		Short: "Staged rollouts: create, publish, status, promote and more",
		Long: `A rollout delivers versions to instances, location by location: SAS at once, MAN 5 s
after SAS, VLA 5 s after MAN. Two conditions must hold before a location gets the next
version: the location's own leaders all run its current version, and the previous
location has run the next version for the delay. Gates can block a location until they
pass. Versions that instances cannot use are abandoned. Operators can pause, promote,
abort and roll back at any time.

Instances are programs that use package client/rollout, or signalbox rollout follow.`,
	}, newCreate(f), newAlter(f), newPrintSpec(f), newStatus(f), newWhy(f),
		newHistory(f), newInstances(f), newPayload(f), newPlan(f), newPublish(f),
		newFollow(f), newGate(f), newSource(f)))
}

// Environment variables for a rollout command, in addition to the node variable.
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

// newRunner returns a runner for rollout commands.
func newRunner(f *cli.Frame) runner.SessionRunner {
	return runner.SessionRunner{Runner: runner.Runner{Frame: f}, NameVariable: rolloutVariable}
}

// targetVariables returns the variables that describe a command's target.
func targetVariables(location string, seq uint64, label string) map[string]string {
	return map[string]string{locationVariable: location, versionVariable: fmt.Sprint(seq), labelVariable: label}
}
