package liveview

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

const (
	// ReasonsEvery is the interval at which a watch rereads the reasons if nothing else changes, because a reason's
	// text can change meanwhile.
	ReasonsEvery = 5 * time.Second
	// screenEvery is the interval at which a screen redraws ages.
	screenEvery = time.Second
)

// Watched is a cluster object in the form for commands that follow changes.
type Watched[O any] interface {
	// Page formats the object for display. Long lines are broken if columns is not 0.
	Page(f *cli.Frame, columns int) string
	// SameAs reports whether only ages differ.
	SameAs(other O) bool
	// Changes describes what has changed since before, one line per change; before is nil at first.
	Changes(before O) []string
}

// Kind is an object kind that commands show: once, or whenever its state, with type S, changes.
type Kind[S any, O Watched[O]] struct {
	Describe func(ctx context.Context, box *client.Client, path, name string) (S, error)
	States   func(ctx context.Context, box *client.Client, path, name string) iter.Seq2[S, error]
	// Object returns what is printed when the given time has passed since a state was read and nothing else has
	// happened.
	Object func(path, name string, state S, elapsed time.Duration) O
}

// Status makes a command show an object, whose path and name are the arguments, and follow it with --watch.
func (k Kind[S, O]) Status(f *cli.Frame, c *cobra.Command) *cobra.Command {
	watch := c.Flags().BoolP("watch", "w", false, "Keep showing changes until interrupted")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *watch {
			return k.watch(f, args).run(c)
		}
		return f.Ask(c, func(ctx context.Context, box *client.Client) error {
			return k.Print(ctx, f, box, args[0], args[1])
		})
	}
	return c
}

// Print prints an object once.
func (k Kind[S, O]) Print(ctx context.Context, f *cli.Frame, box *client.Client, path, name string) error {
	state, err := k.Describe(ctx, box, path, name)
	if err != nil {
		return err
	}
	if f.JSON() {
		return f.Object(state)
	}
	columns, _, _ := f.TerminalSize()
	return f.Write([]byte(k.Object(path, name, state, 0).Page(f, columns)))
}

// Changed shows an object after a change, and passes on a failed change's error.
func (k Kind[S, O]) Changed(ctx context.Context, f *cli.Frame, box *client.Client, args []string, err error) error {
	if err != nil {
		return err
	}
	return f.DoneOr(func() error { return k.Print(ctx, f, box, args[0], args[1]) })
}

// Lines prints changes to the object with the path and name until interrupted.
func (k Kind[S, O]) Lines(f *cli.Frame, c *cobra.Command, args []string) error {
	return f.Follow(c, k.watch(f, args).lines)
}

func (k Kind[S, O]) watch(f *cli.Frame, args []string) *watch[S, O] {
	return &watch[S, O]{Kind: k, frame: f, path: args[0], name: args[1]}
}

// watch shows an object as it changes.
type watch[S any, O Watched[O]] struct {
	Kind[S, O]
	frame      *cli.Frame
	path, name string

	// Used on a terminal.
	screen *Screen
	notes  *lastNote
}

// run shows the object until interrupted: on a terminal as a screen, otherwise as lines.
func (w *watch[S, O]) run(c *cobra.Command) error {
	if w.frame.JSON() || !cli.IsTerminal(w.frame.Out) {
		return w.frame.Follow(c, w.lines)
	}
	w.screen, w.notes = New(w.frame, false), &lastNote{}
	w.frame.Err = w.notes
	defer w.screen.Restore()
	return w.frame.Follow(c, w.show)
}

// lines prints changes: one line per change, or objects.
func (w *watch[S, O]) lines(ctx context.Context, _ *cli.Connection, box *client.Client) error {
	var before O
	first := true
	for s, err := range w.States(ctx, box, w.path, w.name) {
		if err != nil {
			return err
		}
		now := w.Kind.Object(w.path, w.name, s, 0)
		switch {
		case !first && now.SameAs(before):
		case w.frame.JSON():
			err = w.frame.Object(now)
		default:
			lines := append(now.Changes(before), "")
			err = w.frame.Write([]byte(strings.Join(lines, "\n")))
		}
		if err != nil {
			return err
		}
		before, first = now, false
	}
	return nil
}

// stateRead is a state, and when it was read.
type stateRead[S any] struct {
	state S
	at    time.Time // zero before the first read
	err   error
}

// show keeps the object on the screen.
func (w *watch[S, O]) show(ctx context.Context, _ *cli.Connection, box *client.Client) error {
	ctx, stop := context.WithCancel(ctx)
	states, done := make(chan stateRead[S]), make(chan struct{})
	defer func() { stop(); <-done }()
	go func() {
		defer close(done)
		for s, err := range w.States(ctx, box, w.path, w.name) {
			select {
			case states <- stateRead[S]{s, time.Now(), err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	tick := time.NewTicker(screenEvery)
	defer tick.Stop()
	var now stateRead[S]
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
		if now.at.IsZero() {
			continue // nothing was read yet
		}
		columns, _, _ := w.frame.TerminalSize()
		page := w.Kind.Object(w.path, w.name, now.state, time.Since(now.at)).Page(w.frame, columns)
		if err := w.screen.Show(page + w.notes.line()); err != nil {
			return err
		}
	}
}

// lastNote keeps the last line written for users, so that a screen can show it.
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

// line returns the last line after an empty line, or nothing.
func (l *lastNote) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == "" {
		return ""
	}
	return fmt.Sprintf("\n%s", l.last)
}
