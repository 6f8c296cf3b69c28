package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

const (
	// reasonsEvery is how often a watch reads the reasons anew where nothing else changes: what they say of those that
	// are waited for can be other by then.
	reasonsEvery = 5 * time.Second
	// screenEvery is how often a screen shows ages anew.
	screenEvery = time.Second
)

// watched is an object of a cluster as it is printed while it changes.
type watched[O any] interface {
	// page is the object as people look at it. Lines that can be long are broken where columns is not 0.
	page(f *cli.Frame, columns int) string
	// sameAs reports whether nothing but ages is other.
	sameAs(other O) bool
	// changes says what is other than before, a line for each thing; before is nil at first.
	changes(before O) []string
}

// objectWatch shows an object of type O as its states of type S change.
type objectWatch[S any, O watched[O]] struct {
	f      *cli.Frame
	states func(ctx context.Context, box *client.Client) iter.Seq2[S, error]
	// object is what is printed when so much time has passed since a state was read and nothing else has happened.
	object func(state S, elapsed time.Duration) O

	// Of a terminal.
	screen *screen
	notes  *lastNote
}

// run shows the object until it is interrupted: on a terminal as a screen, elsewhere as lines.
func (w *objectWatch[S, O]) run(c *cobra.Command) error {
	if w.f.JSON() || !cli.IsTerminal(w.f.Out) {
		return w.f.Follow(c, w.lines)
	}
	w.screen, w.notes = newScreen(w.f, false), &lastNote{}
	w.f.Err = w.notes
	defer w.screen.restore()
	return w.f.Follow(c, w.show)
}

// lines prints what changes: a line for each thing, or objects.
func (w *objectWatch[S, O]) lines(ctx context.Context, _ *cli.Connection, box *client.Client) error {
	var before O
	first := true
	for s, err := range w.states(ctx, box) {
		if err != nil {
			return err
		}
		now := w.object(s, 0)
		switch {
		case !first && now.sameAs(before):
		case w.f.JSON():
			err = w.f.Object(now)
		default:
			var b bytes.Buffer
			for _, line := range now.changes(before) {
				b.WriteString(line + "\n")
			}
			err = w.f.Write(b.Bytes())
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
	at    time.Time // zero before the first
	err   error
}

// show keeps the object on the screen.
func (w *objectWatch[S, O]) show(ctx context.Context, _ *cli.Connection, box *client.Client) error {
	ctx, stop := context.WithCancel(ctx)
	states, done := make(chan stateRead[S]), make(chan struct{})
	defer func() { stop(); <-done }()
	go func() {
		defer close(done)
		for s, err := range w.states(ctx, box) {
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
		columns, _, _ := w.f.TerminalSize()
		page := w.object(now.state, time.Since(now.at)).page(w.f, columns)
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
