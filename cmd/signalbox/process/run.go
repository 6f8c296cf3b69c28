package process

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/child"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol"
)

// Environment variables for a process command, in addition to the node variable.
const (
	processVariable     = "SIGNALBOX_PROCESS"
	epochVariable       = "SIGNALBOX_EPOCH"
	memberVariable      = "SIGNALBOX_MEMBER"
	coordinatorVariable = "SIGNALBOX_COORDINATOR"
	fromVariable        = "SIGNALBOX_FROM"
)

// runCommand is one run of process run.
type runCommand struct {
	runner.SessionRunner
	member     string
	attributes string
	observer   bool
	create     bool                                                            // create the process if missing
	on         struct{ prepare, request, coordinate, complete, cancel string } // command lines

	serving context.Context // context of the membership
	joined  chan struct{}   // closed when the program has printed its member number
}

func newRun(f *cli.Frame) *cobra.Command {
	w := &runCommand{
		SessionRunner: runner.SessionRunner{Runner: runner.Runner{Frame: f}, NameVariable: processVariable},
	}
	c := &cobra.Command{
		Use:   "run PATH NAME",
		Short: "Take part as a member: run a command for each event",
		Long: `Joins a process as a member, and runs a command for each event, with sh -c. A missing
process is created.

  --on-prepare      an epoch opens. The round begins when the commands of all members
                    have succeeded; a failure gives the round up
  --on-coordinate   all members are prepared, and this member is the coordinator
  --on-request      a request arrives on standard input. The output of the command is
                    the reply, without trailing line breaks. If the exit status is not
                    0 the request fails, with the last line of output as the reason
  --on-complete     the round is complete: the result is on standard input
  --on-cancel       the round has ended without completing

The environment of all commands has:
  SIGNALBOX_EPOCH         the epoch, larger than all earlier epochs: the fencing token
                          of the round. Send the token with each write, and reject
                          smaller tokens
  SIGNALBOX_MEMBER, SIGNALBOX_COORDINATOR, SIGNALBOX_FROM
                          the names of this member, the coordinator and the sender
  SIGNALBOX_NODE, SIGNALBOX_PROCESS

The --on-coordinate command sends requests to members: every line of its output is an
instruction, and answers arrive on its standard input.

  all TEXT          send TEXT to all members, including this member
  others TEXT       send TEXT to all other members
  to MEMBER TEXT    send TEXT to one member
  result TEXT       store TEXT as the result of the round

Every reply is a line "reply MEMBER ok TEXT" or "reply MEMBER failed REASON". The last
line is "end ok", "end failed", or "end late" if some members have not replied in time.
Line breaks in texts are written as \n. Exit status 0 completes the round. Any other
status gives the round up, and another epoch opens.

A member without --on-coordinate is an observer: it takes part and never coordinates.
With --observer=false it may coordinate: the round stays open until the next epoch, and
members answer signalbox process send meanwhile.

Commands run one at a time, except requests during --on-coordinate. When the epoch is
over, running commands are no longer needed. If the member is evicted, or the process is
deleted, the exit code is 80.

` + runner.SessionHelp,
		Example: `  # a member that says how it is when it is asked
  signalbox process run /prod counter --name a --on-request 'cat value'

  # the one that coordinates asks all, and then tells all the largest number
  signalbox process run /prod counter --name b --on-request './counter' --on-coordinate './largest'`,
		RunE: func(c *cobra.Command, args []string) error {
			w.Argv = []string{"sh"}
			if err := w.Check(c, args); err != nil {
				return err
			}
			if w.observer && w.on.coordinate != "" {
				return cli.Misuse(c, "--observer cannot be combined with --on-coordinate")
			}
			if !c.Flags().Changed("observer") {
				w.observer = w.on.coordinate == ""
			}
			if err := runner.OrMachine(c, "name", &w.member); err != nil {
				return err
			}
			return w.Serve(c, w.takePart)
		},
	}
	c.Flags().StringVar(&w.member, "name", "", "Member `NAME`; should be unique. Default: the machine name")
	c.Flags().StringVar(&w.attributes, "attributes", "", "Attributes shown by signalbox process members, `TEXT`, "+
		"such as the program version")
	c.Flags().BoolVar(&w.observer, "observer", false,
		"Take part, and never coordinate. Default without --on-coordinate; use --observer=false to change the default")
	c.Flags().BoolVar(&w.create, "create", true, "Create the process if it does not exist")
	c.Flags().StringVar(&w.on.prepare, "on-prepare", "", "`COMMAND` to run when an epoch opens")
	c.Flags().StringVar(&w.on.request, "on-request", "", "`COMMAND` to run for each request")
	c.Flags().StringVar(&w.on.coordinate, "on-coordinate", "", "`COMMAND` to run when this member coordinates")
	c.Flags().StringVar(&w.on.complete, "on-complete", "", "`COMMAND` to run when the round is complete")
	c.Flags().StringVar(&w.on.cancel, "on-cancel", "", "`COMMAND` to run when the round ends without completing")
	w.AddFlags(c)
	return c
}

// takePart is a member until the context ends.
func (c *runCommand) takePart(ctx context.Context, s *client.Session, k *cli.Connection) error {
	within, cancel := k.Within(ctx)
	c.serving, c.joined = ctx, make(chan struct{})
	options := []process.JoinOption{process.WithName(c.member), process.Attributes([]byte(c.attributes)),
		process.Encoding(process.Raw)}
	if !c.create {
		options = append(options, process.Existing())
	}
	m, err := process.Join(within, s, c.Name, c.handler(), options...)
	cancel()
	if err != nil {
		return cli.EndedBy(within, err)
	}
	defer cli.CleanUp(ctx, c.Frame, "leave the process", m.Leave)
	c.Note("%s is member %d of %s", cli.Safe(c.member), m.ID(), cli.Safe(c.Name))
	close(c.joined)
	select {
	case <-m.Done():
		return m.Err()
	case <-ctx.Done():
		return nil
	}
}

// handler returns the member's actions.
func (c *runCommand) handler() process.Handler {
	h := process.Handler{Prepare: c.prepare, Complete: c.complete, Cancel: c.cancel}
	if c.on.request != "" {
		h.Request = c.request
	}
	if !c.observer {
		h.Coordinate = c.coordinate
	}
	return h
}

// prepare runs the command for a newly opened epoch.
func (c *runCommand) prepare(ctx context.Context, r *process.Round) error {
	select {
	case <-c.joined:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.Note("epoch %d opens with %s, coordinated by %s", r.Epoch(), operation.Plural(r.Size(), "member"),
		cli.Safe(c.nameOf(ctx, r, r.Coordinator())))
	return c.orStopping(ctx, c.runFor(ctx, r, c.on.prepare, nil, c.Out, ""))
}

// request runs the command for a request.
func (c *runCommand) request(ctx context.Context, r *process.Round, q *process.Request) (any, error) {
	reply := &runner.LimitedBuffer{}
	err := c.runFor(ctx, r, c.on.request, q.Bytes(), reply, c.nameOf(ctx, r, q.From))
	switch {
	case err != nil:
		return nil, c.orStopping(ctx, err)
	case reply.Over:
		return nil, fmt.Errorf("the command printed more than %d bytes", protocol.MaxProcessPayloadBytes)
	}
	return bytes.TrimRight(reply.Bytes(), "\n"), nil
}

// complete runs the command for a completed round.
func (c *runCommand) complete(ctx context.Context, r *process.Round, result *process.Result) {
	c.Note("epoch %d is complete, with a result of %s", r.Epoch(), operation.Plural(len(result.Bytes()), "byte"))
	c.noteFailure("--on-complete", c.runFor(ctx, r, c.on.complete, result.Bytes(), c.Out, ""))
}

// cancel runs the command for a round that ended without completion.
func (c *runCommand) cancel(r *process.Round) {
	c.Note("epoch %d ended without completing", r.Epoch())
	c.noteFailure("--on-cancel", c.runFor(c.serving, r, c.on.cancel, nil, c.Out, ""))
}

// noteFailure prints a command's failure if no member gets it as an answer.
func (c *runCommand) noteFailure(flag string, err error) {
	if err != nil && !c.Stopping() {
		c.Note("%s: %v", flag, err)
	}
}

// orStopping returns a command's error. While the program is stopping, orStopping first waits until the member has
// left, because the round is not responsible for a failure at that time.
func (c *runCommand) orStopping(ctx context.Context, err error) error {
	if err != nil && c.Stopping() {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return err
}

// runFor runs a command line for a round, unless the line is empty; from is the asking member. A command failure is
// an error.
func (c *runCommand) runFor(
	ctx context.Context, r *process.Round, line string, payload []byte, out io.Writer, from string,
) error {
	if line == "" {
		return nil
	}
	end, err := c.RunTask(c.task(ctx), c.shell(line, c.variables(ctx, r, from)), payload, out)
	return cmp.Or(err, end.Err())
}

// task returns how commands run: concurrently, because requests arrive while a command coordinates.
func (c *runCommand) task(ctx context.Context) child.Task {
	return child.Task{Purpose: ctx, KillAfter: c.KillAfter, Background: true}
}

// shell returns the command for a command line.
func (c *runCommand) shell(line string, variables map[string]string) *exec.Cmd {
	shell := c.Runner
	shell.Argv = []string{c.Argv[0], "-c", line}
	return shell.Cmd(c.Variables(variables)...)
}

// variables returns a command's variables for a round; from is the asking member, if any.
func (c *runCommand) variables(ctx context.Context, r *process.Round, from string) map[string]string {
	v := map[string]string{
		epochVariable: fmt.Sprint(r.Epoch()), memberVariable: c.member,
		coordinatorVariable: c.nameOf(ctx, r, r.Coordinator()),
	}
	if from != "" {
		v[fromVariable] = from
	}
	return v
}

// nameOf returns the name of a member in the round, or the id of a member that has left.
func (c *runCommand) nameOf(ctx context.Context, r *process.Round, id uint64) string {
	if id == r.Self() {
		return c.member
	}
	peers, _ := r.Members(ctx)
	return peerName(peers, id)
}

// oneLine writes a text as a single line.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", `\n`)
}
