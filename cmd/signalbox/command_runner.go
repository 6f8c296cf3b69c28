package main

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

	"github.com/signalbox/signalbox/cmd/signalbox/internal/child"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

const (
	// exitNotRun and exitNoCommand are what shells say of a command that is there and cannot be run, and of
	// one that is not there.
	exitNotRun    = 126
	exitNoCommand = 127
)

// commandRunner runs the command that stands behind the -- of a command line.
type commandRunner struct {
	*cli.Frame
	quiet bool

	// Of the one run.
	command []string
	program string
	signals chan os.Signal
}

// addQuiet adds the flag that keeps notes back.
func (r *commandRunner) addQuiet(c *cobra.Command) {
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "say nothing but errors on standard error")
}

// takeCommand takes the command and its arguments, which stand behind arguments of these names and --.
func (r *commandRunner) takeCommand(c *cobra.Command, args []string, names ...string) error {
	switch dash := c.ArgsLenAtDash(); {
	case dash < 0:
		return cli.Misuse(c, "there is no -- with a command after it")
	case dash != len(names):
		return cli.Misuse(c, "before -- two arguments must stand, not %d: %s", dash, strings.Join(names, " and "))
	case len(args) == len(names):
		return cli.Misuse(c, "there is no command after --")
	}
	r.command = args[len(names):]
	return nil
}

// findProgram finds the program of the command.
func (r *commandRunner) findProgram() error {
	program, err := exec.LookPath(r.command[0])
	r.program = program
	return r.notRun(err)
}

// notRun gives the error of a command that cannot be started its code.
func (r *commandRunner) notRun(err error) error {
	if err == nil {
		return nil
	}
	return cli.Errorf(startCode(err), "run %s: %w", cli.Safe(r.command[0]), err)
}

// startCode is the code for a command that cannot be started.
func startCode(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNoCommand
	}
	return exitNotRun
}

// cmd returns the command with this program's streams, and with variables beside those of its environment.
func (r *commandRunner) cmd(variables ...string) *exec.Cmd {
	return &exec.Cmd{
		Path: r.program, Args: r.command, Stdin: r.In, Stdout: r.Out, Stderr: r.Err,
		Env: append(append([]string{}, r.Environment...), variables...),
	}
}

// watchSignals returns a context that ends at the first signal that asks this process to end, with
// *cli.Interrupted as its cause. These signals, and those that programs use as they like, also go to the
// command while there is one. A signal that was ignored from the start stays so.
func (r *commandRunner) watchSignals() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	got := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2} {
		if !signal.Ignored(s) {
			signal.Notify(got, s)
		}
	}
	r.signals = make(chan os.Signal, cap(got))
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
				case r.signals <- s:
				default: // a command that is sent so many at once has had its share
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

// note says something for people.
func (r *commandRunner) note(format string, a ...any) {
	if !r.quiet {
		r.Say("signalbox: "+format, a...)
	}
}

// statusOf passes the exit status of a command on.
func statusOf(out child.Outcome) error {
	if out.Status == 0 {
		return nil
	}
	return cli.ExitWith(out.Status, cli.ErrSilent)
}
