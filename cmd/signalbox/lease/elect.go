package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/election"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/child"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
	"github.com/signalbox/signalbox/gateway/operation"
)

const (
	// A candidate pauses before the next attempt if its command ended soon after it began. So a command that cannot
	// work does not load the cluster, and other candidates come first.
	electRest     = 100 * time.Millisecond
	electLongRest = time.Second
	electSoon     = 10 * time.Second
)

// electCommand is one run of elect.
type electCommand struct {
	leaseRunner
	once    bool
	observe bool
	follow  bool
}

// newElect returns the command elect, which runs a command on the leader among many machines.
func newElect(f *cli.Frame) *cobra.Command {
	e := &electCommand{leaseRunner: leaseRunner{Runner: runner.Runner{Frame: f}}}
	c := &cobra.Command{
		Use:   "elect PATH NAME [flags] [-- COMMAND [ARGUMENT...]]",
		Short: "Run a command on the elected leader, or show the leader",
		Long: `Campaigns in the election NAME in the node PATH, runs COMMAND while this process is the
leader, and campaigns again when COMMAND has ended or leadership is lost. One candidate
leads at a time; the next leader is the candidate that has waited longest. The node
must exist, unless --create-node is given.

The environment of COMMAND has SIGNALBOX_FENCE, a fencing token that is larger for every
leader than for all earlier leaders. Receivers of a leader's orders should remember the
largest token and reject orders with a smaller token. SIGNALBOX_SESSION, SIGNALBOX_NODE
and SIGNALBOX_ELECTION are set too. If leadership is lost, COMMAND is stopped before
another candidate can lead, by the rules of signalbox lock, which also describe signals.
SIGINT, SIGTERM, SIGHUP and SIGQUIT end the campaign too.

With --observe the command does not campaign: it prints the leader, and with --follow
also every later leader, one per line; a line without a fence means that there is no
leader. A leader whose lease had already ended is not printed.

Exit codes: after a signal, and with --once, the status of COMMAND; 128 plus the signal
if COMMAND did not run; 80 with --once if leadership was lost; 66 with --observe if
there is no leader; 69 no host could be reached; 126 COMMAND cannot be run; 127 COMMAND
does not exist; 64 the command line is wrong. signalbox help exit-codes lists the
others.`,
		Example: `  # on every machine: the scheduler runs on one of them
  signalbox elect /prod scheduler --data "$(hostname):8080" -- ./scheduler

  # lead once, and end with the exit status of the command
  signalbox elect /prod migration --once -- ./migrate.sh

  # who leads, and who comes after
  signalbox elect /prod scheduler --observe
  signalbox elect /prod scheduler --observe --follow -o json`,
		DisableFlagsInUseLine: true, // the flags precede the --
		RunE: func(c *cobra.Command, args []string) error {
			if e.follow && !e.observe {
				return cli.Errorf(cli.ExitUsage, "--follow requires --observe; see %s --help", c.CommandPath())
			}
			if e.observe {
				if err := cli.Arguments("PATH", "NAME")(c, args); err != nil {
					return err
				}
				return e.watch(c, args[0], args[1])
			}
			if err := e.prepare(c, args); err != nil {
				return err
			}
			return e.serve("elect", e.elect, client.Recreate())
		},
	}
	c.Flags().BoolVar(&e.once, "once", false, "Exit with COMMAND, or when leadership is lost, instead of "+
		"campaigning again")
	c.Flags().BoolVar(&e.observe, "observe", false, "Show the leader without campaigning")
	c.Flags().BoolVar(&e.follow, "follow", false,
		"With --observe: keep showing new leaders until interrupted")
	e.addFlags(c)
	return f.Command(c)
}

// elect contends until a signal ends it.
func (e *electCommand) elect(ctx context.Context, s *client.Session) error {
	for {
		ran, over, err := e.term(ctx, s)
		if over {
			return err
		}
		rest := electRest
		if ran < electSoon {
			rest = electLongRest
		}
		if !cli.SleepFor(ctx, rest) {
			return context.Cause(ctx)
		}
	}
}

// term waits for leadership, and runs the command while leadership lasts. If over is true, the error, or success,
// ends the contending; ran is how long the command ran, without the time in the queue.
func (e *electCommand) term(ctx context.Context, s *client.Session) (ran time.Duration, over bool, err error) {
	lease, err := e.contend(ctx, s)
	if err != nil {
		over, err = e.failed(ctx, s, err)
		return 0, over, err
	}
	if ctx.Err() != nil {
		return 0, true, context.Cause(ctx)
	}
	e.Note("leader of %s, fence %d", cli.Safe(e.name), lease.Fence())
	began := time.Now()
	out, err := e.run(lease, electionVariable)
	ran = time.Since(began)
	switch {
	case err != nil:
		return ran, true, err
	case ctx.Err() != nil, e.once && out.Lost == nil:
		return ran, true, runner.StatusOf(out)
	case out.Lost != nil:
		err = lossOf("the leadership of "+cli.Safe(e.name), out)
		if !e.once {
			e.Note("%v", err)
		}
		return ran, e.once, err
	}
	e.Note("the command ended with status %d", out.Status)
	return ran, false, nil
}

// contend waits for leadership.
func (e *electCommand) contend(ctx context.Context, s *client.Session) (*client.Lease, error) {
	defer child.StopIdly()()
	lease, err := s.Semaphore(e.name, client.Limit(1)).Acquire(ctx, client.Data([]byte(e.data)))
	if err != nil {
		return nil, err
	}
	return lease, e.fit(ctx, s, lease)
}

// fit refuses a semaphore that was created for another purpose: with a larger limit, several candidates would lead.
func (e *electCommand) fit(ctx context.Context, s *client.Session, lease *client.Lease) error {
	d, err := s.Semaphore(e.name).Describe(ctx)
	if err == nil && d.Limit != 1 {
		err = fmt.Errorf("%w: an election needs a semaphore with limit 1, but %s has limit %v; use another name",
			client.ErrPreconditionFailed, cli.Safe(e.name), cli.Amount(d.Limit))
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
		defer cancel()
		_ = lease.Release(ctx) // the release continues without the program
	}
	return err
}

// failed reports whether a failed attempt to lead ends the contending. Outages and lost sessions do not.
func (e *electCommand) failed(ctx context.Context, s *client.Session, err error) (over bool, _ error) {
	if ctx.Err() != nil {
		return true, cli.OrInterrupted(ctx, err)
	}
	if s.Context().Err() != nil {
		return true, context.Cause(s.Context())
	}
	final := []error{client.ErrBadRequest, client.ErrUnauthorized, client.ErrPreconditionFailed, client.ErrUnsupported,
		client.ErrInternal}
	if slices.ContainsFunc(final, func(f error) bool { return errors.Is(err, f) }) {
		return true, err
	}
	e.Note("cannot campaign, trying again: %s", cli.Explain(err))
	return false, nil
}

// watch shows the leader.
func (e *electCommand) watch(c *cobra.Command, path, name string) error {
	if !e.follow {
		return e.Ask(c, func(ctx context.Context, box *client.Client) error {
			l, ok, err := election.Current(ctx, box, path, name)
			if err != nil {
				return err
			}
			if err := e.show(name, l); err != nil || ok {
				return err
			}
			return cli.ExitWith(cli.ExitNotFound, cli.ErrSilent)
		})
	}
	return e.Stay(c, func(ctx context.Context, _ *cli.Connection, box *client.Client) error {
		for l, err := range election.Observe(ctx, box, path, name) {
			if cli.WasInterrupted(ctx) {
				return nil
			}
			if err == nil {
				err = e.show(name, l)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// show writes a line about the leader.
func (e *electCommand) show(name string, l election.Leader) error {
	object := operation.Leadership{Leads: l.Fence > 0, Leader: l}
	if l.Fence == 0 {
		return e.Line(object, "%s has no leader", cli.Safe(name))
	}
	return e.Line(object, "%s is the leader of %s: session %d, fence "+
		"%d", cli.Safe(string(l.Data)), cli.Safe(name), l.SessionID,
		l.Fence)
}
