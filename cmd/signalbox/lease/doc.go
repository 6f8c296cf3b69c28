// Package lease implements the commands that run another command under a lease: lock, elect and barrier.
//
// Start at Commands. runner.go contains what the three share: a session, the command's environment, and the lease's
// end. Package child decides when and how to end a command whose lease is lost.
package lease

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Commands returns the commands that run a command under a lease.
func Commands(f *cli.Frame) []*cobra.Command {
	return []*cobra.Command{newLock(f), newElect(f), newBarrier(f)}
}
