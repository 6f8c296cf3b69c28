// Package process implements the commands for coordination processes.
//
// Start at Command. page.go and changes.go show a process, as a page and as lines about changes; status.go combines
// both into the form that package liveview shows. run.go is a member that runs the user's commands, coordinate.go the
// dialogue of a coordinating member, and send.go a single request from outside.
package process

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Command returns the commands for coordination processes.
func Command(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "process",
		Short: "Coordination processes: run, send, status, why, restart and more",
		Long: `The members of a process agree on the member list, epoch by epoch. In each epoch one
member, the coordinator, sends requests to the other members and collects replies, until
the coordinator completes the round or the next epoch ends the round. A member that
joins, leaves or dies causes a new epoch; a reconnect does not.

Members are programs that use package client/process, or signalbox process run.`,
	}, newCreate(f), newAlter(f), newStatus(f), newWhy(f),
		newWatch(f), newMembers(f), newResults(f), newEvict(f), newSend(f),
		newRun(f)))
}
