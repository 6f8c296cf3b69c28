package process

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
)

// coordinate runs the command that coordinates a round, and executes the lines the command prints.
func (c *runCommand) coordinate(ctx context.Context, r *process.Round) (any, error) {
	if c.on.coordinate == "" {
		process.Yield(ctx, func() { <-ctx.Done() })
		return nil, context.Cause(ctx)
	}
	cmd := c.shell(c.on.coordinate, c.variables(ctx, r, ""))
	d, err := newDialogue(c, r)
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = d.in, d.out
	purpose, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go d.follow(ctx, stop)
	var out runner.Ending
	process.Yield(ctx, func() { out, err = c.RunWithin(c.task(purpose), cmd) })
	said := d.end(ctx)
	if err = cmp.Or(said, err, out.Err()); err != nil {
		err = c.orStopping(ctx, err)
		c.Note("epoch %d was given up: %s", r.Epoch(), cli.Explain(err))
		return nil, err
	}
	return d.result, nil
}

// dialogue is the exchange between a coordinator's command and the members in its round.
type dialogue struct {
	command *runCommand
	round   *process.Round
	in, out *os.File // the command's input and output
	says    *os.File // the program's ends
	hears   *os.File
	ended   atomic.Bool   // the command has ended
	over    chan struct{} // closed when all of the command's lines were executed
	result  []byte
	err     error // why the rest was not executed

	mu      sync.Mutex
	replies bytes.Buffer // not yet passed to the command
	wake    chan struct{}
}

func newDialogue(c *runCommand, r *process.Round) (*dialogue, error) {
	d := &dialogue{command: c, round: r, over: make(chan struct{}), wake: make(chan struct{}, 1)}
	var err error
	if d.in, d.hears, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("cannot open a pipe to the command: %w", err)
	}
	if d.says, d.out, err = os.Pipe(); err != nil {
		d.in.Close()
		d.hears.Close()
		return nil, fmt.Errorf("cannot open a pipe from the command: %w", err)
	}
	go d.pass()
	return d, nil
}

// follow executes every line from the command, until the output ends. If a line cannot be executed, stop ends the
// command.
func (d *dialogue) follow(ctx context.Context, stop context.CancelCauseFunc) {
	defer close(d.over)
	lines := bufio.NewReader(d.says)
	for {
		if d.ended.Load() {
			d.readNoLonger()
		}
		line, err := lines.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			d.err = d.do(ctx, line)
		}
		if d.err != nil {
			stop(d.err)
			return
		}
		if err != nil {
			return
		}
	}
}

// readNoLonger limits how long follow reads after the command has ended, because its child processes may keep the
// output open.
func (d *dialogue) readNoLonger() { _ = d.says.SetReadDeadline(time.Now().Add(runner.OutputDelay)) }

// do executes a line.
func (d *dialogue) do(ctx context.Context, line string) error {
	verb, text, _ := strings.Cut(line, " ")
	switch verb {
	case "all":
		return d.ask(ctx, text)
	case "others":
		return d.ask(ctx, text, process.Others())
	case "to":
		name, text, _ := strings.Cut(text, " ")
		id, err := d.find(ctx, name)
		if err != nil {
			return err
		}
		return d.ask(ctx, text, process.To(id))
	case "result":
		d.result = []byte(text)
		return nil
	}
	return fmt.Errorf("the command printed %q; lines must begin with all, others, to or result", line)
}

// find finds a member by name or id.
func (d *dialogue) find(ctx context.Context, name string) (uint64, error) {
	peers, err := d.round.Members(ctx)
	if err != nil {
		return 0, err
	}
	for _, peer := range peers {
		if peer.Name == name || strconv.FormatUint(peer.ID, 10) == name {
			return peer.ID, nil
		}
	}
	return 0, fmt.Errorf("the command sent a request to %s, which is not a member", cli.Safe(name))
}

// ask sends a request, and passes the replies to the command. An error means that the round cannot continue.
func (d *dialogue) ask(ctx context.Context, text string, options ...process.SendOption) error {
	replies, err := d.round.Broadcast(ctx, []byte(text), options...)
	end := "ok"
	if _, failed := errors.AsType[*process.MemberFailedError](err); failed {
		end, err = "failed", nil
	}
	if errors.Is(err, process.ErrReplyTimeout) {
		end, err = "late", nil
	}
	if err != nil {
		return err
	}
	for _, reply := range replies {
		name := d.command.nameOf(ctx, d.round, reply.From)
		if failure, ok := errors.AsType[*process.ReplyError](reply.Err); ok {
			d.say("reply %s failed %s", name, oneLine(failure.Text))
		} else {
			d.say("reply %s ok %s", name, oneLine(string(reply.Bytes())))
		}
	}
	d.say("end %s", end)
	return nil
}

// say passes a line to the command when it reads.
func (d *dialogue) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(&d.replies, format+"\n", args...)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// pass passes lines to the command until it has ended: a command need not read them.
func (d *dialogue) pass() {
	defer d.hears.Close()
	for range d.wake {
		d.mu.Lock()
		lines := bytes.Clone(d.replies.Bytes())
		d.replies.Reset()
		d.mu.Unlock()
		if _, err := d.hears.Write(lines); err != nil {
			return
		}
	}
}

// end executes the command's last lines after it has ended, and returns why something was not done.
func (d *dialogue) end(ctx context.Context) error {
	d.out.Close()
	d.ended.Store(true)
	d.readNoLonger()
	process.Yield(ctx, func() { <-d.over })
	d.says.Close()
	d.in.Close()
	d.hears.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.wake)
	return d.err
}
