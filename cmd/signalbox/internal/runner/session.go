package runner

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

// ExitAgain is the exit code of a command that cannot do its work now: EX_TEMPFAIL in sysexits.h.
const ExitAgain = 75

// OutputDelay is how long a command's output is read after its end, if its child processes keep the output open.
const OutputDelay = time.Second

// ErrStopping: a signal has ended this program before the command was run.
var ErrStopping = errors.New("this program is stopping")

// SessionRunner runs commands repeatedly for an object in which a session takes part. SessionRunner is shared by
// rollout follow, gate and source and process run.
type SessionRunner struct {
	Runner
	session      cli.SessionFlags
	KillAfter    time.Duration
	path         string
	Name         string
	NameVariable string // environment variable for the name

	ctx context.Context // ends with a signal
	end func()          // ends the serving

	mu      sync.Mutex
	running map[chan os.Signal]bool // signal channels of running commands
}

// SessionHelp describes a command's signals, for the help of commands that run a command for a session.
const SessionHelp = `SIGINT, SIGTERM, SIGHUP and SIGQUIT are forwarded to COMMAND, and end this program with
code 0 after COMMAND has ended. A COMMAND that is no longer needed gets SIGTERM, and
SIGKILL after --kill-after, together with the processes that it started.`

// AddFlags adds the flags all session commands share.
func (r *SessionRunner) AddFlags(c *cobra.Command) {
	r.session.Add(c)
	c.Flags().DurationVar(&r.KillAfter, "kill-after", 10*time.Second, "Time between SIGTERM and SIGKILL when "+
		"COMMAND is no longer needed, `DURATION`")
	r.AddQuiet(c)
}

// Prepare checks everything that can be wrong before the cluster is asked. The arguments are PATH, NAME and COMMAND
// with its arguments.
func (r *SessionRunner) Prepare(c *cobra.Command, args []string) error {
	if err := r.TakeCommand(c, args, "PATH", "NAME"); err != nil {
		return err
	}
	return r.Check(c, args)
}

// Check checks the part of a command line all commands share. The arguments begin with PATH and NAME.
func (r *SessionRunner) Check(c *cobra.Command, args []string) error {
	if r.KillAfter < 0 {
		return cli.Misuse(c, "--kill-after must not be negative, but is %v", r.KillAfter)
	}
	r.path, r.Name = args[0], args[1]
	return r.FindProgram()
}

// Serve starts a session, which is recreated if lost, and calls do until a signal arrives, which is a success. Then
// do's context ends as soon as no command runs.
func (r *SessionRunner) Serve(
	c *cobra.Command, do func(context.Context, *client.Session, *cli.Connection) error,
) error {
	return r.Connected(func(ctx, _ context.Context, k *cli.Connection, box *client.Client) error {
		s, err := r.session.Open(ctx, k, box, r.path, c.CommandPath()+" "+r.Name, client.Recreate())
		if err != nil {
			return cli.OrInterrupted(ctx, err)
		}
		defer cli.CleanUp(ctx, r.Frame, "end the session", s.Close)
		serving, end := context.WithCancelCause(context.WithoutCancel(ctx))
		defer end(nil)
		r.running = make(map[chan os.Signal]bool)
		go r.passSignals(serving)
		r.ctx, r.end = ctx, func() { end(context.Cause(ctx)) }
		defer context.AfterFunc(ctx, r.endIdle)()
		if err := do(serving, s, k); !cli.WasInterrupted(ctx) {
			return err
		}
		return nil
	})
}

// passSignals passes the program's signals on to all running commands.
func (r *SessionRunner) passSignals(ctx context.Context) {
	for {
		select {
		case s := <-r.Signals:
			r.mu.Lock()
			for signals := range r.running {
				select {
				case signals <- s:
				default: // drop excess signals
				}
			}
			r.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// Stopping reports whether a signal has arrived.
func (r *SessionRunner) Stopping() bool { return r.ctx.Err() != nil }

// endIdle ends the serving, unless a command runs.
func (r *SessionRunner) endIdle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.running) == 0 {
		r.end()
	}
}

// begin returns a command's signal channel, which finish removes; nil after the signal that ends the program.
func (r *SessionRunner) begin() chan os.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return nil
	}
	signals := make(chan os.Signal, cap(r.Signals))
	r.running[signals] = true
	return signals
}

func (r *SessionRunner) finish(signals chan os.Signal) {
	r.mu.Lock()
	delete(r.running, signals)
	r.mu.Unlock()
	if r.ctx.Err() != nil {
		r.endIdle()
	}
}

// Ending is how a command ended.
type Ending struct {
	child.Outcome
	Last string // line on standard error, or else on standard output
}

// Err returns the command's failure, nil for success.
func (e *Ending) Err() error {
	switch {
	case e.Lost != nil:
		return e.Lost
	case e.Status == 0:
		return nil
	}
	return fmt.Errorf("exit status %d%s", e.Status, cli.BehindColon(e.Last))
}

// Run runs the command as long as the purpose lasts, with the payload as standard input. An error means that the
// command could not be started, or that a signal came first.
func (r *SessionRunner) Run(
	purpose context.Context, payload []byte, out io.Writer, variables map[string]string,
) (Ending, error) {
	task := child.Task{Purpose: purpose, KillAfter: r.KillAfter, OnChange: r.OnChange("", "")}
	return r.RunTask(task, r.Cmd(r.Variables(variables)...), payload, out)
}

// RunTask runs a command as a task, with the payload as its standard input.
func (r *SessionRunner) RunTask(task child.Task, cmd *exec.Cmd, payload []byte, out io.Writer) (Ending, error) {
	printed := &lastLine{}
	cmd.Stdin, cmd.Stdout = bytes.NewReader(payload), io.MultiWriter(out, printed)
	e, err := r.RunWithin(task, cmd)
	e.Last = cmp.Or(e.Last, printed.text())
	return e, err
}

// RunWithin runs a command with its own standard input and output, unless the program is stopping.
func (r *SessionRunner) RunWithin(task child.Task, cmd *exec.Cmd) (Ending, error) {
	signals := r.begin()
	if signals == nil {
		return Ending{}, ErrStopping
	}
	defer r.finish(signals)
	said := &lastLine{}
	cmd.Stderr, cmd.WaitDelay = io.MultiWriter(r.Err, said), OutputDelay
	outcome, err := task.Run(cmd, signals)
	return Ending{outcome, said.text()}, r.NotRun(err)
}

// Variables returns a command's environment, as NAME=TEXT entries.
func (r *SessionRunner) Variables(variables map[string]string) []string {
	lines := []string{NodeVariable + "=" + r.path, r.NameVariable + "=" + r.Name}
	for name, text := range variables {
		lines = append(lines, name+"="+text)
	}
	return lines
}

// OrMachine sets a flag's name to this machine's name, unless the user has given a name.
func OrMachine(c *cobra.Command, flag string, name *string) (err error) {
	if *name != "" {
		return nil
	}
	if *name, err = os.Hostname(); err != nil {
		return cli.Misuse(c, "cannot get the machine name (%w); give --%s", err, flag)
	}
	return nil
}

// lastLine keeps the last nonempty line of its input.
type lastLine struct {
	open []byte // written since the last line end
	last string
}

// lineMost is the maximum length of a kept line: the limits for a rollout text and for a process failure.
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

// LimitedBuffer keeps at most the size limit for a version.
type LimitedBuffer struct {
	bytes.Buffer
	Over bool // more was written than fits
}

// Write implements io.Writer.
func (l *LimitedBuffer) Write(text []byte) (int, error) {
	if l.Over = l.Over || l.Len()+len(text) > protocol.MaxRolloutPayloadBytes; !l.Over {
		l.Buffer.Write(text)
	}
	return len(text), nil
}
