// Package status has the commands that show cluster health and load: status, top, who and check.
//
// Start at Commands. status asks all hosts; status and check print the health issues (package health). top samples the
// admin pages of hosts (package adminclient). who reads the queues of all semaphores.
package status

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Commands returns the commands of the package.
func Commands(f *cli.Frame) []*cobra.Command {
	return []*cobra.Command{newStatus(f), newTop(f), newWho(f), newCheck(f)}
}
