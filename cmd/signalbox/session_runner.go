package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/child"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/protocol"
)

// exitAgain is the code by which a command says that it cannot do it now: EX_TEMPFAIL of sysexits.h.
const exitAgain = 75

// outputDelay is for how long the output of a command is read on that has ended, where what it has started keeps it
// open.
const outputDelay = time.Second

// errStopping: a signal has ended this program before the command was run.
var errStopping = errors.New("this program is stopping")

// sessionRunner runs commands again and again for an object in which a session takes part: what rollout follow, gate
// and source and process run have in common.
type sessionRunner struct {
	commandRunner
	session      sessionFlags
	killAfter    time.Duration
	path         string
	name         string
	nameVariable string // of the environment, for the name

	ctx context.Context // ends with a signal
	end func()          // ends what is served

	mu      sync.Mutex
	running map[chan os.Signal]bool // commands that run, by the channels on which they get signals
}

// runnerHelp says what such a command gets, for the help of those that run one.
const runnerHelp = `SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to COMMAND, and end this program when
COMMAND has ended, with code 0. Where there is no need for COMMAND any more it gets
SIGTERM, and SIGKILL after --kill-after, as does what it has started.`

// addFlags adds the flags that such commands have in common.
func (r *sessionRunner) addFlags(c *cobra.Command) {
	r.session.add(c)
	c.Flags().DurationVar(&r.killAfter, "kill-after", 10*time.Second, "how long COMMAND has between SIGTERM and SIGKILL where there is no need for it any more: `DURATION`")
	r.addQuiet(c)
}

// prepare checks everything that can be wrong before the cluster is asked. The arguments are PATH, NAME and COMMAND
// with its own.
func (r *sessionRunner) prepare(c *cobra.Command, args []string) error {
	if err := r.takeCommand(c, args, "PATH", "NAME"); err != nil {
		return err
	}
	return r.check(c, args)
}

// check checks what is the same for all commands. The arguments begin with PATH and NAME.
func (r *sessionRunner) check(c *cobra.Command, args []string) error {
	if r.killAfter < 0 {
		return cli.Misuse(c, "--kill-after %v is below zero", r.killAfter)
	}
	r.path, r.name = args[0], args[1]
	return r.findProgram()
}

// serve starts a session, which is renewed, and calls do until a signal comes, which is a success. The context of do
// ends then as soon as no command runs.
func (r *sessionRunner) serve(
	c *cobra.Command, do func(context.Context, *client.Session, *cli.Connection) error,
) error {
	ctx, stop := r.watchSignals()
	defer stop()
	k, err := r.Connection()
	if err != nil {
		return err
	}
	opening, cancel, err := k.Within(ctx)
	if err != nil {
		return err
	}
	box, err := k.Open(opening)
	cancel()
	if err != nil {
		return orInterrupted(ctx, err)
	}
	defer box.Close()
	go cli.ReportOutages(ctx, box, r.note)
	s, err := r.session.open(ctx, k, box, r.path, c.CommandPath()+" "+r.name, client.Renew())
	if err != nil {
		return orInterrupted(ctx, err)
	}
	defer cleanUp(ctx, r.Frame, "end the session", s.Close)
	serving, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	go r.passSignals(serving)
	r.ctx, r.end = ctx, func() { end(context.Cause(ctx)) }
	defer context.AfterFunc(ctx, r.endIdle)()
	if err := do(serving, s, k); !cli.WasInterrupted(ctx) {
		return err
	}
	return nil
}

// passSignals gives the signals that come to all commands that run.
func (r *sessionRunner) passSignals(ctx context.Context) {
	for {
		select {
		case s := <-r.signals:
			r.mu.Lock()
			for signals := range r.running {
				select {
				case signals <- s:
				default: // a command that is sent so many at once has had its share
				}
			}
			r.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// endIdle ends what is served, unless a command runs.
func (r *sessionRunner) endIdle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.running) == 0 {
		r.end()
	}
}

// begin returns the channel on which a command gets signals, until finish is called; nil where none may be run any
// more.
func (r *sessionRunner) begin() chan os.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return nil
	}
	if r.running == nil {
		r.running = make(map[chan os.Signal]bool)
	}
	signals := make(chan os.Signal, cap(r.signals))
	r.running[signals] = true
	return signals
}

func (r *sessionRunner) finish(signals chan os.Signal) {
	r.mu.Lock()
	delete(r.running, signals)
	r.mu.Unlock()
	if r.ctx.Err() != nil {
		r.endIdle()
	}
}

// ending is how a command ended.
type ending struct {
	child.Outcome
	last string // line that it wrote to standard error, or else to standard output
}

// err is why the command did not succeed, nil where it did.
func (e *ending) err() error {
	switch {
	case e.Lost != nil:
		return e.Lost
	case e.Status == 0:
		return nil
	}
	return fmt.Errorf("exit status %d%s", e.Status, behindColon(e.last))
}

// run runs the command for as long as its purpose lasts. The payload is its standard input. The error says that it
// could not be started, or was not because a signal came.
func (r *sessionRunner) run(
	purpose context.Context, payload []byte, out io.Writer, variables map[string]string,
) (ending, error) {
	task := child.Task{Purpose: purpose, KillAfter: r.killAfter, OnChange: r.reportChange}
	return r.runTask(task, r.cmd(r.environment(variables)...), payload, out)
}

// runTask runs a command as a task, with the payload as its standard input.
func (r *sessionRunner) runTask(task child.Task, cmd *exec.Cmd, payload []byte, out io.Writer) (ending, error) {
	printed := &lastLine{}
	cmd.Stdin, cmd.Stdout = bytes.NewReader(payload), io.MultiWriter(out, printed)
	e, err := r.runWithin(task, cmd)
	e.last = cmp.Or(e.last, printed.text())
	return e, err
}

// runWithin runs a command, which has its standard input and output, unless this program is stopping.
func (r *sessionRunner) runWithin(task child.Task, cmd *exec.Cmd) (ending, error) {
	signals := r.begin()
	if signals == nil {
		return ending{}, errStopping
	}
	defer r.finish(signals)
	said := &lastLine{}
	cmd.Stderr, cmd.WaitDelay = io.MultiWriter(r.Err, said), outputDelay
	outcome, err := task.Run(cmd, signals)
	return ending{outcome, said.text()}, r.notRun(err)
}

// environment is what a command finds in its environment, as lines NAME=TEXT.
func (r *sessionRunner) environment(variables map[string]string) []string {
	lines := []string{nodeVariable + "=" + r.path, r.nameVariable + "=" + r.name}
	for name, text := range variables {
		lines = append(lines, name+"="+text)
	}
	return lines
}

// reportChange says what has happened to the command.
func (r *sessionRunner) reportChange(c child.Change) {
	switch c {
	case child.Suspended:
		r.note("the command is stopped, and so is this process")
	case child.Stopped:
		r.note("the command is stopped; kill -CONT %d continues it", os.Getpid())
	case child.Continued:
		r.note("the command goes on")
	}
}

// lastLine keeps the last line that is written to it and is not empty.
type lastLine struct {
	open []byte // what was written since the last end of a line
	last string
}

// lineMost is how much of a line is kept: what a rollout keeps of a text, and a process of a failure.
const lineMost = min(protocol.MaxRolloutTextBytes, protocol.MaxProcessFailureBytes)

// Write implements io.Writer.
func (l *lastLine) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		line, more, ended := bytes.Cut(rest, []byte("\n"))
		l.open = append(l.open, line[:min(len(line), max(0, lineMost-len(l.open)))]...)
		if rest = more; ended {
			l.last, l.open = cmp.Or(l.text(), l.last), l.open[:0]
		}
	}
	return len(text), nil
}

// text is the last line.
func (l *lastLine) text() string {
	return cmp.Or(strings.TrimSpace(strings.ToValidUTF8(string(l.open), "")), l.last)
}
