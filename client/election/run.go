package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/lock"
)

// pause is how long a candidate waits before it contends again: so that a term that ends at once does not make
// the cluster busy, and others come first.
const pause = 100 * time.Millisecond

// Option sets how Run works.
type Option func(*config)

type config struct{ once bool }

// Once makes Run return after one term: nil where it was given up, ErrLost where it was lost.
func Once() Option {
	return func(c *config) { c.once = true }
}

// Run contends in the election of that name in the session's node, with data for observers to see. While it
// leads it runs the function, whose context ends with ctx, when the term is lost, and when it is resigned. The
// term is given up when the function has returned.
//
// It contends again when the function returns nil, Resign, or, once the term is over, what ended it: the cause of its
// context, Term.Err, or the client's error that the session or a lease is lost. Any other error ends Run with that
// error. So does, as its cause, the end of ctx, and that of the session: one with client.Renew ends only for good. The
// function runs on the goroutine of the call, one term at a time.
//
// Candidates that share a session take turns in it; only one of them is in the cluster's queue.
func Run(
	ctx context.Context, s *client.Session, name string, data []byte,
	fn func(ctx context.Context, term Term) error, options ...Option,
) error {
	c := &candidate{session: s, name: name, data: data, fn: fn}
	for _, o := range options {
		o(&c.config)
	}
	for {
		over, err := c.contend(ctx)
		switch {
		case over:
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("election: contend in %q: %w", name, context.Cause(ctx))
		case s.Context().Err() != nil:
			return fmt.Errorf("election: contend in %q: %w", name, context.Cause(s.Context()))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		case <-s.Context().Done():
		}
	}
}

// candidate is one call of Run.
type candidate struct {
	session *client.Session
	name    string
	data    []byte
	fn      func(ctx context.Context, term Term) error
	config  config
}

// contend contends until a term has been led, or it went wrong. over says that Run is to return the error.
func (c *candidate) contend(ctx context.Context) (over bool, err error) {
	var led bool     // a term was led
	var failed error // what the function of the term ended Run with
	err = lock.Do(ctx, c.session, c.name, func(ctx context.Context, fence uint64) error {
		if err := c.fit(ctx); err != nil {
			return err
		}
		ctx, resign := context.WithCancelCause(ctx)
		defer resign(Resign)
		term := Term{Fence: fence, Data: c.data, Context: ctx, resign: resign}
		led = true
		if err := c.fn(ctx, term); !term.endedBy(err) {
			failed = err
		}
		return failed
	}, lock.Slots(1, 1), lock.Data(c.data))
	switch {
	case failed != nil:
		return true, failed
	case led:
		return c.config.once, err
	case ctx.Err() != nil || passing(err):
		return false, nil
	}
	return true, fmt.Errorf("election: contend in %q: %w", c.name, err)
}

// fit refuses a semaphore that was made for something else: with a larger limit, several would lead.
func (c *candidate) fit(ctx context.Context) error {
	d, err := c.session.Semaphore(c.name).Describe(ctx)
	if err != nil {
		return err
	}
	if d.Limit != 1 {
		return fmt.Errorf("%w: the limit of an election is 1, that of the semaphore is %d; use another name",
			client.ErrPreconditionFailed, d.Limit)
	}
	return nil
}

// passing reports whether another try to contend can succeed. Whether the session is over for good is Run's to
// check.
func passing(err error) bool {
	for _, e := range []error{
		ErrLost, client.ErrSessionExpired, client.ErrSessionClosed, client.ErrDeleted, client.ErrNotFound,
		client.ErrUnavailable, client.ErrOverloaded, client.ErrStorageFull, client.ErrQuotaExceeded,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
