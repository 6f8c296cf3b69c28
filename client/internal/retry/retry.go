// Package retry decides when a failed request is sent again. It has the only backoff of the client and its recipes.
package retry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

const (
	// movesAtOnce is how often in a row a request moves to the host that another host names, without a pause.
	movesAtOnce = 4
	// unknownTries is how often a request is sent again after a host said that the session is unknown over the
	// connection, though the session goes on.
	unknownTries = 8
	// spread is the time over which requests that have waited for a leader are spread.
	spread = 50 * time.Millisecond
)

// Backoff is a random fraction of a time that doubles with each failure, from First to Most.
type Backoff struct{ First, Most time.Duration }

// Requests is the backoff of requests to hosts.
var Requests = Backoff{First: 25 * time.Millisecond, Most: time.Second}

// Pause returns how long to wait after so many failures before the latest failure.
func (b Backoff) Pause(failures int) time.Duration {
	return rand.N(min(b.First<<min(failures, 10), b.Most)) + 1
}

// Wait waits for a time. It returns the cause of a context that ends before.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Retries decides about a request that was not carried out, from try to try. The zero value is ready.
type Retries struct {
	// Leaders, if set, is closed when the leader of a shard has become known, since before the try that failed: a
	// pause then ends soon.
	Leaders <-chan struct{}
	// Connected, if set, is closed when a new connection was made, since before the try that failed: a pause then ends
	// at once.
	Connected <-chan struct{}
	// Patience, if set, is the longest pause after a failure to reach a host.
	Patience time.Duration

	tries    int
	moves    int // in a row
	unknowns int
	last     error
}

// Again waits until the request may be sent again, after an error. It returns nil then, and otherwise the error with
// which the request ends: the given error if it is final, or why a context ended.
func (r *Retries) Again(ctx, other context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return r.ended(cause, err)
	}
	r.last = err
	wait, final := r.Delay(err)
	if final {
		return err
	}
	count(ctx)
	if wait == 0 {
		return nil
	}
	var leaders, connected <-chan struct{}
	if failure.IsTransport(err) || failure.Status(err) == protocol.StatusUnavailable {
		leaders, connected = r.Leaders, r.Connected
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-connected:
			return nil
		case <-leaders:
			leaders, r.tries = nil, 1
			timer.Reset(rand.N(spread))
		case <-ctx.Done():
			return r.ended(context.Cause(ctx), err)
		case <-other.Done():
			return context.Cause(other)
		}
	}
}

// Delay is how long to wait after an error before the request may be sent again. final says that the request may not
// be sent again.
func (r *Retries) Delay(err error) (wait time.Duration, final bool) {
	status := failure.Status(err)
	if failure.IsTransport(err) {
		wait = r.next(0)
		if r.Patience > 0 {
			wait = min(wait, r.Patience)
		}
	} else {
		switch status.Retry() {
		case protocol.RetryNever:
			return 0, true
		case protocol.RetryNewSequence:
		case protocol.RetryElsewhere:
			if r.moves++; r.moves > movesAtOnce {
				wait = r.next(0)
			}
		default:
			if r.tries == 0 {
				r.tries = 1 // a host that answered has just been asked
			}
			wait = r.next(failure.Wait(err))
		}
	}
	if status != protocol.StatusMoved {
		r.moves = 0
	}
	return wait, false
}

// next is the pause before the next try, atLeast or longer. The second try waits for no more than atLeast.
func (r *Retries) next(atLeast time.Duration) time.Duration {
	r.tries++
	if r.tries == 1 {
		return atLeast
	}
	return max(atLeast, Requests.Pause(r.tries-2))
}

// Unknown counts an answer of a host that does not know the session over the connection. It returns false after too
// many of these answers.
func (r *Retries) Unknown() bool {
	r.unknowns++
	return r.unknowns <= unknownTries
}

// ended is the error of a request that was given up.
func (r *Retries) ended(cause, last error) error {
	if last == nil {
		last = r.last
	}
	if last == nil || errors.Is(last, cause) || errors.Is(cause, last) {
		return cause
	}
	return fmt.Errorf("%w, after: %w", cause, last)
}

// counterKey is the key of the counter of an operation's retries in a context.
type counterKey struct{}

// WithCounter returns a context whose retries are counted in n, by the goroutine that retries.
func WithCounter(ctx context.Context, n *int) context.Context {
	return context.WithValue(ctx, counterKey{}, n)
}

func count(ctx context.Context) {
	if n, ok := ctx.Value(counterKey{}).(*int); ok {
		*n++
	}
}
