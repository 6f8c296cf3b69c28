package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

const (
	// reasonsEvery is how often a watch reads the reasons anew where nothing else changes: what they say of instances
	// can be other by then.
	reasonsEvery = 5 * time.Second
	// screenEvery is how often a screen shows ages anew.
	screenEvery = time.Second
)

func newRolloutStatus(f *cli.Frame) *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:   "status PATH NAME",
		Short: "Show a rollout: its locations, and why it does not move",
		Long: `Shows a rollout: the phase, the locations in their order with the version of each, how
many of its leaders have reached it, what comes next and when, the gates, and why the
rollout does not move.

  idle           every location has reached the newest version that it may have
  rolling        versions are on their way
  blocked        something has to come from outside, which is said
  rolling back   locations go back to a version
  paused         an operator paused it
  halted         it halted, and waits for an operator

With --watch it stays on the screen and follows what happens, until it is interrupted.
Lost connections and changes of leader do not end it. On what is no terminal it prints
what changes, a line each; with -o json each change is an object on a line.`,
		Example: `  signalbox rollout status /prod dns
  signalbox rollout status /prod dns --watch

  # until everything has the newest version
  signalbox rollout status /prod dns -w -o json | jq --unbuffered -n 'first(inputs | select(.phase == "idle"))'`,
		Args:              cli.Arguments("PATH", "NAME"),
		ValidArgsFunction: f.Complete(f.Paths, completeRollouts(f)),
		RunE: func(c *cobra.Command, args []string) error {
			path, name := args[0], args[1]
			if !watch {
				return f.Ask(c, func(ctx context.Context, box *client.Client) error {
					return showRollout(ctx, f, box, path, name)
				})
			}
			w := rolloutWatch{f: f, path: path, name: name}
			if f.JSON() || !cli.IsTerminal(f.Out) {
				return f.Follow(c, w.lines)
			}
			w.screen, w.notes = newScreen(f, false), &lastNote{}
			f.Err = w.notes
			defer w.screen.restore()
			return f.Follow(c, w.show)
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "follow what happens, until interrupted")
	return c
}

// showRollout prints a rollout.
func showRollout(ctx context.Context, f *cli.Frame, box *client.Client, path, name string) error {
	s, err := rollout.Of(box, path, name).Describe(ctx, rollout.WithReasons())
	if err != nil {
		return err
	}
	o := newRolloutObject(path, name, s, 0)
	if f.JSON() {
		return f.Object(o)
	}
	columns, _, _ := f.TerminalSize()
	return f.Write([]byte(o.page(f, columns)))
}

// rolloutWatch shows a rollout as it changes.
type rolloutWatch struct {
	f          *cli.Frame
	path, name string

	// Of a terminal.
	screen *screen
	notes  *lastNote
}

// lines prints what changes: a line for each thing, or objects.
func (w *rolloutWatch) lines(ctx context.Context, _ *cli.Connection, box *client.Client) error {
	var before *rolloutObject
	for s, err := range rollout.Of(box, w.path, w.name).Watch(ctx, reasonsEvery) {
		if err != nil {
			return err
		}
		now := newRolloutObject(w.path, w.name, s, 0)
		switch {
		case before != nil && before.sameAs(now):
		case w.f.JSON():
			err = w.f.Object(now)
		default:
			var b bytes.Buffer
			for _, line := range rolloutChanges(before, now) {
				b.WriteString(line + "\n")
			}
			err = w.f.Write(b.Bytes())
		}
		if err != nil {
			return err
		}
		before = now
	}
	return nil
}

// sameAs reports whether nothing but ages is other.
func (o *rolloutObject) sameAs(other *rolloutObject) bool {
	same := o.Revision == other.Revision && o.Exists == other.Exists && o.Phase == other.Phase &&
		len(o.Reasons) == len(other.Reasons)
	for i := 0; same && i < len(o.Reasons); i++ {
		same = o.Reasons[i].Code == other.Reasons[i].Code && o.Reasons[i].Location == other.Reasons[i].Location
	}
	return same
}

// stateRead is a state, and when it was read.
type stateRead struct {
	*rollout.State
	at  time.Time
	err error
}

// show keeps the rollout on the screen.
func (w *rolloutWatch) show(ctx context.Context, _ *cli.Connection, box *client.Client) error {
	ctx, stop := context.WithCancel(ctx)
	states, done := make(chan stateRead), make(chan struct{})
	defer func() { stop(); <-done }()
	go func() {
		defer close(done)
		for s, err := range rollout.Of(box, w.path, w.name).Watch(ctx, reasonsEvery) {
			select {
			case states <- stateRead{s, time.Now(), err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	tick := time.NewTicker(screenEvery)
	defer tick.Stop()
	var now stateRead
	for {
		select {
		case now = <-states:
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if now.err != nil {
			return now.err
		}
		if now.State == nil {
			continue // nothing was read yet
		}
		columns, _, _ := w.f.TerminalSize()
		page := newRolloutObject(w.path, w.name, now.State, time.Since(now.at)).page(w.f, columns)
		if err := w.screen.show(page + w.notes.line()); err != nil {
			return err
		}
	}
}

// lastNote keeps the last line that is written for people, for a screen to show.
type lastNote struct {
	mu   sync.Mutex
	last string
}

// Write implements io.Writer.
func (l *lastNote) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = string(text)
	return len(text), nil
}

// line is the last line below an empty one, or nothing.
func (l *lastNote) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == "" {
		return ""
	}
	return fmt.Sprintf("\n%s", l.last)
}
