package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/barrier"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/child"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
)

// Environment variables for a command behind a barrier, in addition to those for all commands.
const (
	barrierVariable = "SIGNALBOX_BARRIER"
	partyVariable   = "SIGNALBOX_PARTY"
)

// barrierCommand is a run of barrier.
type barrierCommand struct {
	leaseRunner
	parties int
	wait    time.Duration
	bounded bool
}

// newBarrier returns the command barrier, which runs a command together with other processes.
func newBarrier(f *cli.Frame) *cobra.Command {
	b := &barrierCommand{leaseRunner: leaseRunner{Runner: runner.Runner{Frame: f}}}
	c := &cobra.Command{
		Use:   "barrier PATH NAME --parties NUMBER [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a command in step with other parties",
		Long: `Waits until --parties parties, on any machines, have reached the barrier NAME in the
node PATH, runs COMMAND at the same time as the other parties, and exits with the status
of COMMAND when the commands of all parties have ended. All parties must give the same
number. The node must exist, unless --create-node is given.

Parties that are admitted together form a generation. A party that arrives while a
generation runs, or exceeds the number, belongs to the next generation. If a party dies
while waiting, its slot becomes free. If a party dies while its command runs, the other
parties wait until its session ends.

The environment of COMMAND has:
  SIGNALBOX_FENCE    the number of the generation, which grows: the fencing token. Send
                     the token with each write, and reject smaller tokens
  SIGNALBOX_PARTY    the party's number in the generation: 0, 1 and so on
  SIGNALBOX_NODE, SIGNALBOX_BARRIER

Signals are forwarded to COMMAND, and end the wait. If the slot is lost, because no host
could be reached for the session timeout or an operator evicted the party, COMMAND gets
SIGTERM, and SIGKILL after --kill-after.

Exit codes: that of COMMAND, or 128 plus the signal that ended it; 75 not all parties
arrived within --wait; 79 the barrier has another number of parties; 80 the slot was
lost while COMMAND ran; 69 no host could be reached; 126 COMMAND cannot be run; 127
COMMAND does not exist; 64 the command line is wrong. signalbox help exit-codes lists
the others.`,
		Example: `  # three machines migrate at the same time, or none of them does
  signalbox barrier /prod migration --parties 3 --wait 10m -- ./migrate.sh

  # the first of them does what is to be done once
  signalbox barrier /prod migration --parties 3 -- sh -c '[ $SIGNALBOX_PARTY != 0 ] || ./announce.sh'`,
		DisableFlagsInUseLine: true, // the flags precede the --
		RunE: func(c *cobra.Command, args []string) error {
			if err := b.prepare(c, args); err != nil {
				return err
			}
			if b.parties < 1 {
				return cli.Misuse(c, "--parties %d is invalid; give the number of parties", b.parties)
			}
			if b.bounded = c.Flags().Changed("wait"); b.wait < 0 {
				return cli.Misuse(c, "--wait must not be negative, but is %v", b.wait)
			}
			return b.serve("barrier", b.pass)
		},
	}
	c.Flags().IntVar(&b.parties, "parties", 0, "Parties to wait for, `NUMBER`")
	c.Flags().DurationVar(&b.wait, "wait", 0, "Maximum time to wait for all parties, `DURATION`. Default: wait forever")
	b.addFlags(c)
	return f.Command(c)
}

// pass waits for all parties, runs the command, and waits for all parties again.
func (b *barrierCommand) pass(ctx context.Context, s *client.Session) error {
	entry, err := b.enter(ctx, barrier.New(s, b.name, b.parties, barrier.As(b.data)))
	if err != nil {
		return cli.OrInterrupted(ctx, err)
	}
	task := child.Task{Purpose: entry.Context(), KillAfter: b.killAfter, OnChange: b.onChange()}
	out, err := task.Run(b.Cmd(
		runner.NodeVariable+"="+b.path,
		barrierVariable+"="+b.name,
		fmt.Sprintf("%s=%d", fenceVariable, entry.Generation()),
		fmt.Sprintf("%s=%d", partyVariable, entry.Index()),
	), b.Signals)
	left := b.leave(ctx, entry)
	switch {
	case err != nil:
		return b.NotRun(err)
	case out.Lost != nil:
		return lossOf("the slot in "+cli.Safe(b.name), out)
	case out.Status == 0 && left != nil && ctx.Err() == nil:
		return left
	}
	return runner.StatusOf(out)
}

// enter waits for all parties.
func (b *barrierCommand) enter(ctx context.Context, x *barrier.Barrier) (*barrier.Entry, error) {
	defer child.StopIdly()()
	if b.bounded {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, b.wait, cli.Errorf(cli.ExitNotAcquired,
			"not all of %d parties reached %s within %v; the command was not run", b.parties, cli.Safe(b.name), b.wait))
		defer cancel()
	}
	b.Note("waiting at %s for %d parties", cli.Safe(b.name), b.parties)
	e, err := x.Enter(ctx)
	return e, cli.EndedBy(ctx, err)
}

// leave waits until all parties' commands have ended, or a signal arrives.
func (b *barrierCommand) leave(ctx context.Context, e *barrier.Entry) error {
	if ctx.Err() != nil {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		_ = e.Leave(bye) // leaving continues without the program
		return nil
	}
	err := e.Leave(ctx)
	if errors.Is(err, barrier.ErrLost) {
		return cli.ExitWith(cli.ExitLost, err)
	}
	return cli.OrInterrupted(ctx, err)
}
