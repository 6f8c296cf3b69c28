// Package overview has the commands that show how a cluster is: status, top, who and check.
//
// Commands is the door. status asks all hosts, and check and status show the list of package concerns. top reads the
// admin pages of hosts by package pages, and compares two readings. who asks for the queues of all semaphores.
package overview

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Commands returns the commands that show how a cluster is.
func Commands(f *cli.Frame) []*cobra.Command {
	return []*cobra.Command{newStatus(f), newTop(f), newWho(f), newCheck(f)}
}
