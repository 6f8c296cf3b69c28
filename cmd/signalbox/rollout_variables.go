package main

import (
	"fmt"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

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
