// Package runner runs a user's command. Runner finds the command and forwards signals. SessionRunner runs the command
// repeatedly for an object while a session takes part. Package child starts and stops the command.
package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/child"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

const (
	// exitNotRun and exitNoCommand are the shell's exit codes for a command that cannot be run, and for a missing
	// command.
	exitNotRun    = 126
	exitNoCommand = 127
)

// NodeVariable is the variable with the node's path.
const NodeVariable = "SIGNALBOX_NODE"

// Runner runs the command after the -- in a command line.
type Runner struct {
	*cli.Frame
	quiet bool

	// Set for the run.
	Argv    []string
	Program string
	Signals chan os.Signal
}

// AddQuiet adds the flag that suppresses notes.
func (r *Runner) AddQuiet(c *cobra.Command) {
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "Write only errors to standard error")
}

// TakeCommand takes the command and its arguments after the named arguments and --.
func (r *Runner) TakeCommand(c *cobra.Command, args []string, names ...string) error {
	switch dash := c.ArgsLenAtDash(); {
	case dash < 0:
		return cli.Misuse(c, "the command is missing; give it after --")
	case dash != len(names):
		return cli.Misuse(c, "expected two arguments before --, not %d: %s", dash, strings.Join(names, " and "))
	case len(args) == len(names):
		return cli.Misuse(c, "the command after -- is missing")
	}
	r.Argv = args[len(names):]
	return nil
}

// FindProgram finds the command's program.
func (r *Runner) FindProgram() error {
	program, err := exec.LookPath(r.Argv[0])
	r.Program = program
	return r.NotRun(err)
}

// NotRun attaches an exit code to the error for a command that cannot be started.
func (r *Runner) NotRun(err error) error {
	if err == nil {
		return nil
	}
	return cli.Errorf(startCode(err), "cannot run %s: %w", cli.Safe(r.Argv[0]), err)
}

// startCode returns the exit code for a command that cannot be started.
func startCode(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNoCommand
	}
	return exitNotRun
}

// Cmd returns the command with this program's streams, and with additional environment variables.
func (r *Runner) Cmd(variables ...string) *exec.Cmd {
	return &exec.Cmd{
		Path: r.Program, Args: r.Argv, Stdin: r.In, Stdout: r.Out, Stderr: r.Err,
		Env: append(append([]string{}, r.Environment...), variables...),
	}
}

// WatchSignals returns a context that ends at the process's first termination signal, with *cli.Interrupted as the
// cause. Termination signals, and user-defined signals, are also passed to a running command. A signal that was
// ignored from the start stays ignored.
func (r *Runner) WatchSignals() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	got := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2} {
		if !signal.Ignored(s) {
			signal.Notify(got, s)
		}
	}
	r.Signals = make(chan os.Signal, cap(got))
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case s := <-got:
				if s != syscall.SIGUSR1 && s != syscall.SIGUSR2 {
					cancel(&cli.Interrupted{Signal: s})
				}
				select {
				case r.Signals <- s:
				default: // drop excess signals
				}
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(got)
		close(over)
		<-done
		cancel(nil)
	}
}

// Connected connects to the cluster, and calls do with a context that ends at the first signal as in WatchSignals.
// The context opening ends after --timeout, and is for opening a session.
func (r *Runner) Connected(do func(ctx, opening context.Context, k *cli.Connection, box *client.Client) error) error {
	ctx, stop := r.WatchSignals()
	defer stop()
	k, err := r.Connection()
	if err != nil {
		return cli.OrInterrupted(ctx, err)
	}
	opening, cancel := k.Within(ctx)
	defer cancel()
	box, err := k.Open(opening)
	if err != nil {
		return cli.OrInterrupted(ctx, err)
	}
	defer box.Close() // which ends a session first, or leaves the end to the timeout
	go cli.ReportOutages(ctx, box, r.Note)
	return do(ctx, opening, k, box)
}

// Note prints a note for users.
func (r *Runner) Note(format string, a ...any) {
	if !r.quiet {
		r.Say("signalbox: "+format, a...)
	}
}

// OnChange returns a function that prints what has happened to the command, and the consequences of a stop.
func (r *Runner) OnChange(suspended, stopped string) func(child.Change) {
	return func(c child.Change) {
		switch c {
		case child.Suspended:
			r.Note("the command and this process are stopped%s", suspended)
		case child.Stopped:
			r.Note("the command is stopped%s; kill -CONT %d continues it", stopped, os.Getpid())
		case child.Continued:
			r.Note("the command continues")
		}
	}
}

// StatusOf passes on a command's exit status.
func StatusOf(out child.Outcome) error {
	if out.Status == 0 {
		return nil
	}
	return cli.ExitWith(out.Status, cli.ErrSilent)
}
