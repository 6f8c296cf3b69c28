// Package process has the commands about coordination processes.
//
// Command is the door. page.go and changes.go show a process to people, as a page and as lines of changes; status.go
// joins both into the form that package screen shows. run.go is a member that runs commands of the user, coordinate.go
// the dialogue of a member that coordinates, and send.go a single request from outside.
package process

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Command returns the commands about coordination processes.
func Command(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "process",
		Short: "Rounds of coordination: run, send, status, why, restart and more",
		Long: `The members of a process agree, epoch by epoch, on who they are. In each epoch one of
them coordinates: it sends requests to the others and gets their replies, until it
completes the round, or until the next epoch ends it. Who joins, leaves or dies causes
another epoch; who only reconnects does not.

Members are programs that use package client/process, or signalbox process run.`,
	}, newCreate(f), newAlter(f), newStatus(f), newWhy(f),
		newWatch(f), newMembers(f), newResults(f), newEvict(f), newSend(f),
		newRun(f)))
}
