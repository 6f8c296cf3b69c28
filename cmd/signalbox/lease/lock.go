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
		Long: `Runs COMMAND while holding the lock NAME in the node PATH, and exits with the status of
COMMAND. Of all commands started with the same PATH and NAME, on any machine, one runs
at a time; the others wait in order of arrival. Locks need not be created. The node must
exist, unless --create-node is given: a lock in a mistyped path would exclude nobody.

With --shared, holders of the shared lock run together, but not with an exclusive
holder. With --limit N up to N commands run together: NAME is then a persistent
semaphore, created by the first caller with this limit. --count K takes K units.

COMMAND uses the standard input, output and error of this command. The environment of
COMMAND has:
  SIGNALBOX_FENCE    the fencing token: larger for every owner than for all earlier
                     owners. Send the token with each write, and reject smaller tokens
  SIGNALBOX_SESSION  the id of the session that holds the lock
  SIGNALBOX_NODE, SIGNALBOX_LOCK, SIGNALBOX_COUNT
                     the node path, the lock name, and the number of units

SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are forwarded to the command and
the processes that it started; stopped processes are continued first. The lock is
released when COMMAND ends, even if background processes of COMMAND still run.

If no host can be reached for most of the session timeout, the lock is given up a tenth
of the timeout before the cluster gives it to another owner. The command and the
processes that it started get SIGTERM, and SIGKILL after --kill-after, well within that
tenth. If another owner may have the lock already, because an operator ended the session
or this process was suspended, they are killed at once. On Linux, COMMAND is also killed
if this process dies.

Ctrl-Z stops the command and this process, as for any shell job; so does a background
command that reads the terminal. A stopped process does not renew the lease: fg or bg
within the session timeout continues the command, and a later fg or bg kills it. A
command that receives SIGSTOP alone keeps its lock, and the stop is reported.

A stopped lock process cannot stop a command, and never stops a process that left the
process group, as daemons do. Use the fencing token to protect data in these cases.

Exit codes: that of COMMAND, or 128 plus the signal that ended it; 75 not acquired
within --wait; 80 the lock was lost while COMMAND ran; 69 no host could be reached; 126
COMMAND cannot be run; 127 COMMAND does not exist; 64 the command line is wrong.
signalbox help exit-codes lists the others.`,
		Example: `  # one at a time: try it in two terminals
  signalbox lock /demo job --create-node -- sleep 10

  # a nightly report on one of many machines; the others do without
  signalbox lock /prod nightly --wait 0 -- ./report.sh

  # at most three imports at once, and wait for a minute at most
  signalbox lock /prod import --limit 3 --wait 1m -- ./import.sh

  # many readers, one writer
  signalbox lock /prod archive --shared -- ./read.sh
  signalbox lock /prod archive -- ./rewrite.sh

  # what the command is told
  signalbox lock /demo job -- sh -c 'echo my token is $SIGNALBOX_FENCE'`,
		DisableFlagsInUseLine: true, // the flags precede the --
		RunE: func(c *cobra.Command, args []string) error {
			given := c.Flags().Changed
			l.counted, l.limited, l.bounded = given("count"), given("limit"), given("wait")
			if err := l.prepare(c, args); err != nil {
				return err
			}
			if err := l.check(); err != nil {
				return cli.Errorf(cli.ExitUsage, "%w; see %s --help", err, c.CommandPath())
			}
			return l.serve("lock", l.lock)
		},
	}
	c.Flags().Var(&l.limit, "limit",
		"Semaphore limit. A missing semaphore is created with this limit")
	c.Flags().Var(&l.count, "count", "Units to acquire. Without --limit the semaphore must exist")
	c.Flags().BoolVar(&l.shared, "shared", false, "Share the lock with other shared owners")
	c.Flags().DurationVar(&l.wait, "wait", 0, "Maximum time to wait for the lock, `DURATION`. 0s tries once. "+
		"Default: wait forever")
	l.addFlags(c)
	return f.Command(c)
}

// check refuses incompatible flags.
func (l *lockCommand) check() error {
	switch {
	case l.shared && (l.limited || l.counted):
		return errors.New("--shared cannot be combined with --limit and --count: locks are shared, semaphores " +
			"have a limit")
	case l.limited && l.count > l.limit:
		return fmt.Errorf("--count %v must not be larger than --limit %v", l.count, l.limit)
	case l.bounded && l.wait < 0:
		return fmt.Errorf("--wait must not be negative, but is %v; omit --wait to wait forever", l.wait)
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

// acquire acquires the lock.
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
		options = append(options, client.Wait(l.wait))
	}
	options = append(options, client.OnQueued(func(uint64) { l.Note("waiting for %s", cli.Safe(l.name)) }))
	return acquire(ctx, options...)
}

// explain adds to a failed acquire's error what the user can do.
func (l *lockCommand) explain(err error) error {
	var end *client.SessionEnd
	switch {
	case errors.Is(err, client.ErrNotAcquired) && l.wait == 0:
		return cli.Errorf(cli.ExitNotAcquired, "%s is in use; the command was not run", cli.Safe(l.name))
	case errors.Is(err, client.ErrNotAcquired):
		return cli.Errorf(cli.ExitNotAcquired, "%s was not acquired within %v; the command was not run",
			cli.Safe(l.name), l.wait)
	case errors.As(err, &end) && end.Reason == client.EndUnreachable:
		// Nothing was held yet.
		return cli.Errorf(cli.ExitUnavailable, "%w; the command was not run", err)
	case errors.Is(err, client.ErrPreconditionFailed) && !l.limited && !l.counted:
		return fmt.Errorf("%w; if %s was created with a limit, give --count", err, cli.Safe(l.name))
	case errors.Is(err, client.ErrNotFound) && l.counted && !l.limited:
		return fmt.Errorf("%w; --limit N creates it", err)
	}
	return err
}
