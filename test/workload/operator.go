package workload

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// Operator makes objects for a test, acts on them, and reads in the end what they have decided.
type Operator interface {
	// Make makes the objects, however often that has to be tried. It returns false where the context ends before.
	Make(ctx context.Context) bool
	// Operate makes them and acts on them now and then, until the context ends.
	Operate(ctx context.Context)
	// Finish takes away whatever holds them up, and begins something last. It returns false where the context ends
	// before. The faults are over by then, and the workers calm.
	Finish(ctx context.Context) bool
	// ReadEnd records what they have decided, as soon as all is as it has to be in the end, or when the context ends.
	ReadEnd(ctx context.Context)
}

// Desk is what an Operator works with.
type Desk struct {
	Client  *client.Client
	Record  *history.Recorder
	Node    string
	Pace    time.Duration // that of what the workers do
	Gathers bool          // of Processes
	Random  *rand.Rand
	acts    int
}

// operatorTimeout is that of an operator's requests, operatorSession that of its sessions.
const (
	operatorTimeout = 20 * time.Second
	operatorSession = 5 * time.Second
)

// made makes something, however often that has to be tried. It returns false where the context ends before.
func (d *Desk) made(ctx context.Context, make func(context.Context) error) bool {
	err := client.ErrUnavailable
	for err != nil && !errors.Is(err, client.ErrAlreadyExists) {
		if ctx.Err() != nil {
			return false
		}
		try, cancel := context.WithTimeout(ctx, operatorTimeout)
		err = make(try)
		cancel()
		Sleep(ctx, retryPause)
	}
	return true
}

// inSession does something in a session of its own, so that it takes effect once. It returns false where it was not
// tried.
func (d *Desk) inSession(ctx context.Context, do func(context.Context, *client.Session)) bool {
	ctx, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	s, err := d.Client.Session(ctx, d.Node, client.SessionTimeout(operatorSession))
	if err != nil {
		return false
	}
	defer func() { _ = s.Close(ctx) }() // or it ends by itself
	do(ctx, s)
	return true
}

// untilDone carries steps out one after the other, each until it succeeds. It returns false where the context ends
// before.
func untilDone(ctx context.Context, steps ...func() bool) bool {
	for _, step := range steps {
		for !step() {
			if !Sleep(ctx, retryPause) {
				return false
			}
		}
	}
	return true
}

// readUntil reads until nothing is wrong with what was read, or the context ends. It returns why it could not be read
// at last.
func readUntil(ctx context.Context, read func(context.Context) error, wrong func() bool) error {
	for {
		asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), operatorTimeout)
		err := read(asked)
		cancel()
		if err == nil && !wrong() || !Sleep(ctx, retryPause) {
			return err
		}
	}
}
