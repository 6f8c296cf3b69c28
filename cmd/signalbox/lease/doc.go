// Package lease has the commands that run another command under a lease: lock, elect and barrier.
//
// Commands is the door. runner.go has what the three share: a session, the environment of the command, and the end of
// the lease. Package child says when and how a command is ended whose lease is lost.
package lease

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Commands returns the commands that run a command under a lease.
func Commands(f *cli.Frame) []*cobra.Command {
	return []*cobra.Command{newLock(f), newElect(f), newBarrier(f)}
}
