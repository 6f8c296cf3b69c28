package workload

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// Operator creates objects for a test, operates on them, and finally reads their decisions.
type Operator interface {
	// Make creates the objects, with retries. It returns false if the context ends first.
	Make(ctx context.Context) bool
	// Operate creates the objects and occasionally operates on them, until the context ends.
	Operate(ctx context.Context)
	// Finish removes everything that blocks the objects, and starts a last activity. It returns false if the context
	// ends first. The faults are over by then, and the workers calm.
	Finish(ctx context.Context) bool
	// ReadEnd records the objects' decisions, as soon as their final state is reached, or when the context ends.
	ReadEnd(ctx context.Context)
}

// Desk is an Operator's environment.
type Desk struct {
	Client  *client.Client
	Record  *history.Recorder
	Node    string
	Pace    time.Duration // the workers' pace
	Gathers bool          // of Processes
	Random  *rand.Rand
	acts    int
}

// operatorTimeout is an operator's request timeout, operatorSession its session timeout.
const (
	operatorTimeout = 20 * time.Second
	operatorSession = 5 * time.Second
)

// made creates an object, with retries. It returns false if the context ends first.
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

// inSession runs do in a new session, so that a request takes effect once. It returns false if do was not called.
func (d *Desk) inSession(ctx context.Context, do func(context.Context, *client.Session)) bool {
	ctx, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	s, err := d.Client.Session(ctx, d.Node, client.SessionTimeout(operatorSession))
	if err != nil {
		return false
	}
	defer func() { _ = s.Close(ctx) }() // otherwise it expires
	do(ctx, s)
	return true
}

// untilDone runs the steps in order, each until it succeeds. It returns false if the context ends first.
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

// readUntil reads until nothing is wrong with the result, or the context ends. It returns the last read error.
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
