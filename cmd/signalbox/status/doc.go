// Package status implements the commands that show cluster health and load: status, top, who and check.
//
// Start at Commands. status asks all hosts; status and check print the health issues (package health). top samples
// the hosts' admin pages (package adminclient). who reads all semaphores' queues.
package status

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Commands returns the package's commands.
func Commands(f *cli.Frame) []*cobra.Command {
	return []*cobra.Command{newStatus(f), newTop(f), newWho(f), newCheck(f)}
}
