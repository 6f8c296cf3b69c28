package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/child"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
)

const (
	// releaseTime is how long a command's end waits for the cluster to release a lease. Otherwise the release
	// completes in the background, or by the session timeout.
	releaseTime = time.Second
	// maxSessionTimeout is the longest session timeout.
	maxSessionTimeout = 30 * time.Minute
)

// Environment variables for a command under a lease.
const (
	lockVariable     = "SIGNALBOX_LOCK"
	electionVariable = "SIGNALBOX_ELECTION"
	fenceVariable    = "SIGNALBOX_FENCE"
	sessionVariable  = "SIGNALBOX_SESSION"
	countVariable    = "SIGNALBOX_COUNT"
)

// leaseRunner runs a command under a lease. leaseRunner is shared by lock and elect.
type leaseRunner struct {
	runner.Runner
	timeout   time.Duration
	killAfter time.Duration
	data      string
	create    bool // create the node if it does not exist

	path, name string // set for the run
}

// addFlags adds the flags of both commands.
func (r *leaseRunner) addFlags(c *cobra.Command) {
	c.Flags().DurationVar(&r.timeout, "session-timeout", client.DefaultSessionTimeout,
		"Session timeout: time without contact after which the lease is released, `DURATION` from 1s to 30m")
	c.Flags().DurationVar(&r.killAfter, "kill-after", 0,
		"Time between SIGTERM and SIGKILL for COMMAND if the lease is lost, `DURATION`. "+
			"Default: a twentieth of the session timeout; at most a sixteenth")
	c.Flags().StringVar(&r.data, "data", "", "Owner data that other clients can read, `TEXT`. Default: the "+
		"machine and the process")
	c.Flags().BoolVar(&r.create, "create-node", false, "Create the node if it does not exist")
	r.AddQuiet(c)
}

// prepare checks everything that can be wrong before the cluster is asked. The arguments are PATH, NAME and COMMAND
// with its arguments.
func (r *leaseRunner) prepare(c *cobra.Command, args []string) error {
	if err := r.TakeCommand(c, args, "PATH", "NAME"); err != nil {
		return err
	}
	if r.timeout < child.MinTimeout || r.timeout > maxSessionTimeout {
		return cli.Misuse(c, "--session-timeout %v is out of range; give %v to %v, to leave time to stop a command",
			r.timeout, child.MinTimeout, maxSessionTimeout)
	}
	if !c.Flags().Changed("kill-after") {
		r.killAfter = child.DefaultKillAfter(r.timeout)
	}
	if most := child.MaxKillAfter(r.timeout); r.killAfter < 0 || r.killAfter > most {
		return cli.Misuse(c, "--kill-after %v is too long: with --session-timeout %v another owner may get the "+
			"lease before the kill; give at most %v, or a longer session timeout",
			r.killAfter, r.timeout, most)
	}
	r.data = cmp.Or(r.data, whoAmI())
	r.path, r.name = args[0], args[1]
	return r.FindProgram()
}

func whoAmI() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s, process %d", cmp.Or(host, "unknown"), os.Getpid())
}

// serve calls do with a new session.
func (r *leaseRunner) serve(kind string, do func(context.Context, *client.Session) error,
	options ...client.SessionOption) error {
	return r.Connected(func(ctx, opening context.Context, _ *cli.Connection, box *client.Client) error {
		s, err := r.open(opening, box, kind, options...)
		if err != nil {
			return cli.OrInterrupted(ctx, err)
		}
		return do(ctx, s)
	})
}

// open starts a session. A missing node is created only on request: locks in a mistyped path would exclude no owner.
func (r *leaseRunner) open(ctx context.Context, box *client.Client, kind string,
	options ...client.SessionOption) (*client.Session, error) {
	description := fmt.Sprintf("signalbox %s on %s: %.200s", kind, whoAmI(), filepath.Base(r.Program))
	options = append(options, client.SessionTimeout(r.timeout), client.Description(description))
	s, err := box.Session(ctx, r.path, options...)
	switch {
	case !errors.Is(err, client.ErrNotFound):
		return s, cli.EndedBy(ctx, err)
	case !r.create:
		return nil, fmt.Errorf("%w; check the path, or give --create-node to create the node", err)
	}
	node, err := box.CreateNode(ctx, r.path, client.NodeConfig{})
	if err != nil {
		return nil, fmt.Errorf("node %s does not exist and cannot be created: %w", cli.Safe(r.path), err)
	}
	if !node.Existed {
		r.Note("created the node %s", cli.Safe(r.path))
	}
	s, err = box.Session(ctx, r.path, options...)
	return s, cli.EndedBy(ctx, err)
}

// run runs the command under a lease, and releases the lease.
func (r *leaseRunner) run(lease *client.Lease, nameVariable string) (child.Outcome, error) {
	cmd := r.Cmd(
		runner.NodeVariable+"="+r.path,
		nameVariable+"="+lease.Name(),
		fmt.Sprintf("%s=%d", fenceVariable, lease.Fence()),
		fmt.Sprintf("%s=%d", sessionVariable, lease.Session()),
		fmt.Sprintf("%s=%v", countVariable, cli.Amount(lease.Count())),
	)
	out, err := child.KillTimer{Lease: lease, Timeout: r.timeout, KillAfter: r.killAfter,
		OnChange: r.onChange()}.Run(cmd, r.Signals)
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	_ = lease.Release(ctx) // the command is over, whatever the result
	return out, r.NotRun(err)
}

// onChange returns a function that prints what has happened to the command.
func (r *leaseRunner) onChange() func(child.Change) {
	suspended := "; continue both within %v, or the lease is lost and the command is killed"
	return r.OnChange(fmt.Sprintf(suspended, r.timeout), ", and the lease is kept")
}

// lossOf describes how a command ended after its lease was lost.
func lossOf(what string, out child.Outcome) error {
	end := "the command ended after SIGTERM"
	switch {
	case out.NotRun:
		end = "the command was not run"
	case out.Killed:
		end = "the command was killed"
	}
	return cli.Errorf(cli.ExitLost, "%s was lost: %w; %s", what, out.Lost, end)
}
