package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/lock"
)

// pause is the delay before a candidate campaigns again, so that a term that ends at once does not load the cluster,
// and other candidates come first.
const pause = 100 * time.Millisecond

// Option sets how Run works.
type Option func(*config)

type config struct{ once bool }

// Once makes Run return after one term: nil if the term was given up, ErrLost if the term was lost.
func Once() Option {
	return func(c *config) { c.once = true }
}

// Run campaigns in the named election in the session's node, with data for observers. While it leads, Run runs the
// function. The function's context ends with ctx, when the term is lost, and when the term is resigned. Run gives the
// term up when the function has returned.
//
// Run campaigns again when the function returns nil or Resign. Once the term is over, Run also campaigns again when the
// function returns the reason for the end: the context's cause, Term.Err, or the client's error for a lost session or
// lease. On any other error, Run returns the error. If ctx or the session ends, Run returns the cause; a session with
// client.Recreate only ends when it cannot be recreated. The function runs in the caller's goroutine, one term at a
// time.
//
// Candidates that share a session take turns; only one candidate at a time is in the cluster's queue.
func Run(
	ctx context.Context, s *client.Session, name string, data []byte,
	fn func(ctx context.Context, term Term) error, options ...Option,
) error {
	c := &candidate{session: s, name: name, data: data, fn: fn}
	option.Apply(&c.config, options)
	for {
		over, err := c.contend(ctx)
		switch {
		case over:
			return err
		case ctx.Err() != nil:
			return failure.OfName("election", "contend in", name, context.Cause(ctx))
		case s.Context().Err() != nil:
			return failure.OfName("election", "contend in", name, context.Cause(s.Context()))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		case <-s.Context().Done():
		}
	}
}

// candidate is one call to Run.
type candidate struct {
	session *client.Session
	name    string
	data    []byte
	fn      func(ctx context.Context, term Term) error
	config  config
}

// contend campaigns until a term is over or campaigning has failed. over reports that Run must return the error.
func (c *candidate) contend(ctx context.Context) (over bool, err error) {
	var led bool     // a term was led
	var failed error // the function's error, if it ends Run
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
	return true, failure.OfName("election", "contend in", c.name, err)
}

// fit rejects a semaphore that was created for something else: with a larger limit, several candidates would lead.
func (c *candidate) fit(ctx context.Context) error {
	d, err := c.session.Semaphore(c.name).Describe(ctx)
	if err != nil {
		return err
	}
	if d.Limit != 1 {
		return fmt.Errorf("%w: an election needs a semaphore with limit 1, but the limit is %d; use another name",
			client.ErrPreconditionFailed, d.Limit)
	}
	return nil
}

// passing reports whether another attempt can succeed. Run itself checks whether the session has permanently ended.
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
