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

// The variables in the environment of a command behind a barrier, beside the variables of all commands.
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

// newBarrier returns the command barrier, which runs a command together with further processes.
func newBarrier(f *cli.Frame) *cobra.Command {
	b := &barrierCommand{leaseRunner: leaseRunner{Runner: runner.Runner{Frame: f}}}
	c := &cobra.Command{
		Use:   "barrier PATH NAME --parties NUMBER [flags] -- COMMAND [ARGUMENT...]",
		Short: "Begin a command together with others, and end together",
		Long: `Waits until as many have come to the barrier NAME of the node PATH as --parties says, on
whatever machines, runs COMMAND at the same time as they do, and ends with its exit
status when the commands of all have ended. All must give the same number. The node is
created where it does not exist, which is said on standard error.

Those who are let in together are a generation: who comes while others are inside, or is
one too many, is of the next one. Who dies while it waits frees its place; who dies
inside holds the others no longer than its session.

COMMAND finds in its environment:
  SIGNALBOX_FENCE    the number of the generation, larger than all before: the fencing
                     token. Send it along with what you write, and refuse less
  SIGNALBOX_PARTY    which of the generation this is: 0, 1 and so on
  SIGNALBOX_NODE, SIGNALBOX_BARRIER

Signals are passed on to COMMAND, and end the waiting. When the place inside is lost,
because no host can be reached for the session timeout, or an operator put it out,
COMMAND gets SIGTERM, and SIGKILL after --kill-after.

Exit codes: that of COMMAND, or 128 and the number of the signal that ended it; 75 not
all have come within --wait; 79 the barrier is for another number; 80 the place was lost
while COMMAND ran; 69 no host could be asked; 126 COMMAND cannot be run; 127 there is no
COMMAND; 64 the command line is wrong. signalbox help exit-codes has the others.`,
		Example: `  # three machines migrate at the same time, or none of them does
  signalbox barrier /prod migration --parties 3 --wait 10m -- ./migrate.sh

  # the first of them does what is to be done once
  signalbox barrier /prod migration --parties 3 -- sh -c '[ $SIGNALBOX_PARTY != 0 ] || ./announce.sh'`,
		DisableFlagsInUseLine: true, // the flags stand before the --
		RunE: func(c *cobra.Command, args []string) error {
			if err := b.prepare(c, args); err != nil {
				return err
			}
			if b.parties < 1 {
				return cli.Misuse(c, "--parties %d: say how many are to come", b.parties)
			}
			if b.bounded = c.Flags().Changed("wait"); b.wait < 0 {
				return cli.Misuse(c, "--wait %v is below zero", b.wait)
			}
			return b.serve("barrier", b.pass)
		},
	}
	c.Flags().IntVar(&b.parties, "parties", 0, "`NUMBER` of parties to wait for")
	c.Flags().DurationVar(&b.wait, "wait", 0, "Maximum time to wait for the others, `DURATION`. Default: wait forever")
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
		return lossOf("the place in "+cli.Safe(b.name), out)
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
			"not all of %d have come to %s within %v; the command was not run", b.parties, cli.Safe(b.name), b.wait))
		defer cancel()
	}
	b.Note("waiting at %s until %d are there", cli.Safe(b.name), b.parties)
	e, err := x.Enter(ctx)
	return e, cli.EndedBy(ctx, err)
}

// leave waits until the commands of all have ended, or a signal comes.
func (b *barrierCommand) leave(ctx context.Context, e *barrier.Entry) error {
	if ctx.Err() != nil {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		_ = e.Leave(bye) // the leaving goes on without the program
		return nil
	}
	err := e.Leave(ctx)
	if errors.Is(err, barrier.ErrLost) {
		return cli.ExitWith(cli.ExitLost, err)
	}
	return cli.OrInterrupted(ctx, err)
}
