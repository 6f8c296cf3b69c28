// Package semaphore implements the commands for semaphores and for the sessions that own them or wait for them. Start
// at Commands.
package semaphore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Commands returns the commands for semaphores and for sessions, which own and wait for semaphores.
func Commands(f *cli.Frame) []*cobra.Command {
	return []*cobra.Command{semaphoreCommands(f), sessionCommands(f)}
}

// semaphoreCommands returns the commands for semaphores.
func semaphoreCommands(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "semaphore",
		Short: "Semaphores and locks: create, describe, list, acquire, watch and more",
		Long: `A semaphore has a limit, and the units of its owners never exceed the limit. A caller
that asks for more units than are free waits in one queue, first come, first served.
With limit 1 a semaphore is a lock; without a limit it is a list of members. A semaphore
and its owners can have data for other clients.

A persistent semaphore is created and deleted explicitly. An ephemeral semaphore exists
while it has an owner, and has no limit: an owner of all units is alone.`,
	}, newAcquire(f), newRelease(f), newWatch(f)))
}

// acquireFlags define what is acquired, and how.
type acquireFlags struct {
	session      cli.SessionFlags
	count, limit cli.Amount
	ephemeral    bool
	wait         time.Duration
	data         string
}

func newAcquire(f *cli.Frame) *cobra.Command {
	flags := acquireFlags{count: 1}
	c := &cobra.Command{
		Use:   "acquire PATH NAME",
		Short: "Acquire a semaphore and hold it until interrupted",
		Long: `Acquires units of a semaphore, waiting if necessary, prints the grant with its fencing
token, and holds the units until interrupted (SIGINT or SIGTERM). Then the command
releases the units and exits with code 0. Scripts should use SIGTERM, because shells let
background commands ignore SIGINT. To run a command under a lock, use signalbox lock.

The fencing token is larger for each owner than for all earlier owners. Send the token
with every write to the protected resource, and reject smaller tokens there.

Exit codes: 66 the semaphore does not exist, unless --limit or --ephemeral is given; 75
not acquired within --wait; 80 the units were lost.

` + cli.DataHelp,
		Example: `  # one of three slots; the semaphore is created if it is not there
  signalbox semaphore acquire /prod/jobs workers --limit 3

  # a lock that comes and goes with its owner, for at most a minute of waiting
  signalbox semaphore acquire /prod/jobs object/17 --ephemeral --count all --wait 1m

  # only if it is free now, with something for others to read
  signalbox semaphore acquire /prod/jobs nightly --wait 0 --data "$(hostname)"

  # the fencing token, as soon as it is there; Ctrl-C gives the semaphore back
  signalbox semaphore acquire /prod/jobs nightly -o json | jq --unbuffered -r .fence

  # in a script: held from the line that says so until it is told to end
  signalbox semaphore acquire /prod/jobs nightly -o json >grant &
  until [ -s grant ]; do kill -0 $! || exit; sleep 0.1; done
  jq -r .fence grant
  kill -TERM $!; wait $!`,
		RunE: func(c *cobra.Command, args []string) error {
			options, err := flags.options(f, c)
			if err != nil {
				return err
			}
			do := func(ctx context.Context, k *cli.Connection, s *client.Session) error {
				lease, err := flags.acquire(ctx, f, c, k, s, args[1], options)
				if err != nil {
					return err
				}
				return hold(ctx, f, args[0], lease)
			}
			return flags.session.Stay(f, c, args, do)
		},
	}
	flags.session.Add(c)
	c.Flags().Var(&flags.count, "count",
		"Units to acquire, at least 1. All units of an ephemeral semaphore make the hold exclusive")
	c.Flags().Var(&flags.limit, "limit", "Create a missing semaphore with this limit: a number from 1, or all")
	c.Flags().BoolVar(&flags.ephemeral, "ephemeral", false,
		"Use an ephemeral semaphore, which exists only while owned")
	c.Flags().DurationVar(&flags.wait, "wait", 0, "Maximum time to wait, `DURATION` up to 24h. 0 tries once. "+
		"Default: wait forever")
	c.Flags().StringVar(&flags.data, "data", "", "Owner data that other clients can read: `TEXT`, @FILE, or - "+
		"for standard input")
	return c
}

// options returns the acquire options from the flags.
func (a *acquireFlags) options(f *cli.Frame, c *cobra.Command) ([]client.AcquireOption, error) {
	switch {
	case a.ephemeral && a.limit != 0:
		return nil, cli.Errorf(cli.ExitUsage,
			"--limit and --ephemeral cannot be combined: an ephemeral semaphore has no limit")
	case a.wait < 0:
		return nil, cli.Errorf(cli.ExitUsage, "--wait must not be negative, but is %v", a.wait)
	}
	value, err := f.Data(a.data)
	if err != nil {
		return nil, err
	}
	options := []client.AcquireOption{
		client.Count(uint64(a.count)), client.Data(value),
		client.OnQueued(func(order uint64) { f.Say("waiting in the queue, with order id %d", order) }),
	}
	if a.wait > 0 {
		options = append(options, client.Wait(a.wait))
	}
	return options, nil
}

// acquirer is a persistent or ephemeral semaphore.
type acquirer interface {
	Acquire(context.Context, ...client.AcquireOption) (*client.Lease, error)
	TryAcquire(context.Context, ...client.AcquireOption) (*client.Lease, bool, error)
}

func (a *acquireFlags) acquire(ctx context.Context, f *cli.Frame, c *cobra.Command, k *cli.Connection,
	s *client.Session, name string, options []client.AcquireOption) (*client.Lease, error) {
	var x acquirer
	switch {
	case a.ephemeral:
		x = s.Ephemeral(name)
	case a.limit != 0:
		x = s.Semaphore(name, client.Limit(uint64(a.limit)))
	default:
		x = s.Semaphore(name)
	}
	if !c.Flags().Changed("wait") || a.wait > 0 {
		lease, err := x.Acquire(ctx, options...)
		return lease, acquireHint(err)
	}
	within, cancel := k.Within(ctx)
	defer cancel()
	lease, ok, err := x.TryAcquire(within, options...)
	if err == nil && !ok {
		return nil, cli.Errorf(cli.ExitNotAcquired, "%s: not acquired: not enough units are free", cli.Safe(name))
	}
	return lease, acquireHint(cli.EndedBy(within, err))
}

// acquireHint adds to the error about a missing semaphore what the user can do.
func acquireHint(err error) error {
	if errors.Is(err, client.ErrSemaphoreNotFound) {
		return fmt.Errorf("%w; use --limit to create it, or --ephemeral", err)
	}
	return err
}

// Acquired is a grant with its fencing token.
type Acquired struct {
	Node      string
	Name      string
	SessionID uint64
	Fence     uint64
	Count     uint64
}

// hold prints a grant and keeps it until the context or the lease ends.
func hold(ctx context.Context, f *cli.Frame, path string, lease *client.Lease) error {
	name := cli.Safe(lease.Name())
	g := Acquired{path, lease.Name(), lease.Session(), lease.Fence(), lease.Count()}
	err := f.Line(g, "acquired %s in %s: fence %d, count %v, session %d", name, cli.Safe(path), g.Fence,
		cli.Amount(g.Count), g.SessionID)
	if err == nil {
		select {
		case <-ctx.Done():
		case <-lease.Context().Done():
			return cli.Errorf(cli.ExitLost, "%s is no longer held: %w", name, context.Cause(lease.Context()))
		}
	}
	cli.CleanUp(ctx, f, "release "+name, lease.Release)
	f.Say("released %s", name)
	return err
}
