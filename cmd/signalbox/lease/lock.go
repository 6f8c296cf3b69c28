package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
)

// lockCommand is one run of lock.
type lockCommand struct {
	leaseRunner
	count  cli.Amount
	limit  cli.Amount
	shared bool
	wait   time.Duration

	counted, limited, bounded bool // set for the given flags
}

// newLock returns the command that runs a command under a lock.
func newLock(f *cli.Frame) *cobra.Command {
	l := &lockCommand{leaseRunner: leaseRunner{Runner: runner.Runner{Frame: f}}, count: 1, limit: 1}
	c := &cobra.Command{
		Use:   "lock PATH NAME [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a command under a lock",
		Long: `Runs COMMAND while holding the lock NAME in the node PATH, and ends with its exit
status. Of all that are started with the same PATH and NAME, on whatever machine,
one runs at a time, and the others wait in the order in which they came. The lock
needs no making; the node is created where it does not exist, which is said on
standard error.

With --shared those who share the lock run together, but not with one who does not.
With --limit N up to N run together: NAME is then a semaphore that is created with
that limit by whoever comes first, and stays. --count K takes K of it.

Standard input, output and error are the command's. It finds in its environment:
  SIGNALBOX_FENCE    the fencing token: larger for every owner than for all before.
                     Send it along with what you write, and refuse less
  SIGNALBOX_SESSION  the id of the session that holds the lock
  SIGNALBOX_NODE, SIGNALBOX_LOCK, SIGNALBOX_COUNT
                     the path of the node, the name, and how much of it is held

SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on to the command
and what it has started, which go on for that if they were stopped. The lock is given
back when COMMAND ends, not when what it left in the background does.

When no host can be reached for most of the session timeout, the lock is given up a
tenth of the timeout before the cluster gives it to somebody else. The command and
what it has started get SIGTERM, and SIGKILL by --kill-after, well within that
tenth. Where somebody may have the lock already, because an operator ended the
session or this process stood still, they are killed at once. On Linux COMMAND is
killed with this process, too.

Ctrl-Z stops the command and this process, as it stops any job of a shell, and so does
a command in the background that wants the terminal. Then nobody renews the lease: fg
or bg within the session timeout lets the command go on, and later ones kill it. A
command that gets SIGSTOP by itself keeps its lock, which is said.

Nothing can stop a command in the time for which this process itself is stopped, nor
what has left the command's process group as daemons do: for that there is the
fencing token.

Exit codes: that of COMMAND, or 128 and the number of the signal that ended it; 75
not acquired within --wait; 80 the lock was lost while COMMAND ran; 69 no host could
be asked; 126 COMMAND cannot be run; 127 there is no COMMAND; 64 the command line is
wrong. signalbox help exit-codes has the others.`,
		Example: `  # one at a time: try it in two terminals
  signalbox lock /demo job -- sleep 10

  # a nightly report on one of many machines; the others do without
  signalbox lock /prod nightly --wait 0 -- ./report.sh

  # at most three imports at once, and wait for a minute at most
  signalbox lock /prod import --limit 3 --wait 1m -- ./import.sh

  # many readers, one writer
  signalbox lock /prod archive --shared -- ./read.sh
  signalbox lock /prod archive -- ./rewrite.sh

  # what the command is told
  signalbox lock /demo job -- sh -c 'echo my token is $SIGNALBOX_FENCE'`,
		DisableFlagsInUseLine: true, // the flags stand before the --
		RunE: func(c *cobra.Command, args []string) error {
			given := c.Flags().Changed
			l.counted, l.limited, l.bounded = given("count"), given("limit"), given("wait")
			if err := l.prepare(c, args); err != nil {
				return err
			}
			if err := l.check(); err != nil {
				return cli.Errorf(cli.ExitUsage, "%w; %s --help tells more", err, c.CommandPath())
			}
			return l.serve("lock", l.lock)
		},
	}
	c.Flags().Var(&l.limit, "limit",
		"Limit of the semaphore, which is created with it if it does not exist")
	c.Flags().Var(&l.count, "count", "Units of the limit to take. Without --limit the semaphore must exist")
	c.Flags().BoolVar(&l.shared, "shared", false, "Share the lock with other shared owners")
	c.Flags().DurationVar(&l.wait, "wait", 0, "Maximum time to wait for the lock, `DURATION`. 0s tries once. "+
		"Default: wait forever")
	l.addFlags(c)
	return f.Command(c)
}

// check refuses flags that do not go together.
func (l *lockCommand) check() error {
	switch {
	case l.shared && (l.limited || l.counted):
		return errors.New("--shared is for locks, and --limit and --count are for semaphores with a limit: give one " +
			"or the other")
	case l.limited && l.count > l.limit:
		return fmt.Errorf("--count %v is more than --limit %v: it would never be there", l.count, l.limit)
	case l.bounded && l.wait < 0:
		return fmt.Errorf("--wait %v: give a time from 0s, or nothing to wait for ever", l.wait)
	}
	return nil
}

// lock runs the command.
func (l *lockCommand) lock(ctx context.Context, s *client.Session) error {
	lease, err := l.acquire(ctx, s)
	if err != nil {
		return cli.OrInterrupted(ctx, l.explain(err))
	}
	if err := ctx.Err(); err != nil {
		return cli.OrInterrupted(ctx, err)
	}
	out, err := l.run(lease, lockVariable)
	switch {
	case err != nil:
		return err
	case out.Lost != nil:
		return lossOf("the lock "+cli.Safe(l.name), out)
	}
	return runner.StatusOf(out)
}

// acquire takes the lock.
func (l *lockCommand) acquire(ctx context.Context, s *client.Session) (lease *client.Lease, err error) {
	acquire, try := s.Ephemeral(l.name).Acquire, s.Ephemeral(l.name).TryAcquire
	count := uint64(client.All)
	switch {
	case l.shared:
		count = 1
	case l.limited:
		x := s.Semaphore(l.name, client.Limit(uint64(l.limit)))
		acquire, try, count = x.Acquire, x.TryAcquire, uint64(l.count)
	case l.counted:
		x := s.Semaphore(l.name)
		acquire, try, count = x.Acquire, x.TryAcquire, uint64(l.count)
	}
	options := []client.AcquireOption{client.Count(count), client.Data([]byte(l.data))}
	if l.bounded && l.wait == 0 {
		var ok bool
		if lease, ok, err = try(ctx, options...); err == nil && !ok {
			err = client.ErrNotAcquired
		}
		return lease, err
	}
	if l.bounded {
		options = append(options, client.Timeout(l.wait))
	}
	options = append(options, client.OnQueued(func(uint64) { l.Note("waiting for %s", cli.Safe(l.name)) }))
	return acquire(ctx, options...)
}

// explain adds to the error of a failed acquire what the user can do.
func (l *lockCommand) explain(err error) error {
	var end *client.SessionEnd
	switch {
	case errors.Is(err, client.ErrNotAcquired) && l.wait == 0:
		return cli.Errorf(cli.ExitNotAcquired, "%s is taken; the command was not run", cli.Safe(l.name))
	case errors.Is(err, client.ErrNotAcquired):
		return cli.Errorf(cli.ExitNotAcquired, "%s was not acquired within %v; the command was not run",
			cli.Safe(l.name), l.wait)
	case errors.As(err, &end) && end.Reason == client.EndSilence:
		// Nothing was held yet.
		return cli.Errorf(cli.ExitUnavailable, "%w; the command was not run", err)
	case errors.Is(err, client.ErrPreconditionFailed) && !l.limited && !l.counted:
		return fmt.Errorf("%w; if %s was made with a limit, give --count", err, cli.Safe(l.name))
	case errors.Is(err, client.ErrNotFound) && l.counted && !l.limited:
		return fmt.Errorf("%w; --limit N creates it", err)
	}
	return err
}
