// Package retry decides when to retry a failed request. It has the only backoff in the client and its recipes.
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
	// movesAtOnce is how often in a row a request follows a redirect without a pause.
	movesAtOnce = 4
	// waitsAtOnce is how often in a row a host may ask a request to wait before the client looks for another leader.
	waitsAtOnce = 3
	// unknownTries is how often a request is sent again after a host said that the session is unknown over the
	// connection, though the session goes on.
	unknownTries = 8
	// spread is the time over which requests that waited for a leader are spread.
	spread = 50 * time.Millisecond
)

// Backoff is a random fraction of a time that doubles with each failure, from First to Most.
type Backoff struct{ First, Most time.Duration }

// Requests is the backoff for host requests.
var Requests = Backoff{First: 25 * time.Millisecond, Most: time.Second}

// Pause returns how long to wait after so many failures before the latest failure.
func (b Backoff) Pause(failures int) time.Duration {
	return rand.N(min(b.First<<min(failures, 10), b.Most)) + 1
}

// Wait waits for d. If the context ends first, Wait returns the context's cause.
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

// Retries decides whether and when to retry a request. The zero value is ready.
type Retries struct {
	// Leaders, if set, is closed when a shard leader becomes known after the start of the failed attempt. A pause then
	// ends soon.
	Leaders <-chan struct{}
	// Connected, if set, is closed when a new connection is made after the start of the failed attempt. A pause then
	// ends at once.
	Connected <-chan struct{}
	// Patience, if set, is the longest pause after a failure to reach a host.
	Patience time.Duration

	tries    int
	moves    int // in a row
	waits    int // in a row: how often a host asked to wait
	unknowns int
	last     error
}

// Again waits after an error until the request may be retried, and then returns nil. Otherwise Again returns the
// request's final error: the given error if it is final, or a context's cause.
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
	if r.Waits(err) {
		r.waits++
	} else if failure.Wait(err) == 0 {
		r.waits = 0
	}
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
				r.tries = 1 // a host that answered was just asked
			}
			wait = r.next(failure.Wait(err))
		}
	}
	if status != protocol.StatusMoved {
		r.moves = 0
	}
	return wait, false
}

// Lags has the pause after a MOVED from a lagging host begin: the client asks the owner that it knows, which may lag
// itself.
func (r *Retries) Lags() { r.moves, r.tries = movesAtOnce, max(r.tries, 1) }

// Waits reports whether the host can answer soon, so the client leaves the routing alone. A host that keeps asking to
// wait may be partitioned from the shard's leader.
func (r *Retries) Waits(err error) bool {
	return failure.Status(err) == protocol.StatusUnavailable && failure.Wait(err) > 0 && r.waits < waitsAtOnce
}

// next is the pause before the next try, atLeast or longer. The second try waits for no more than atLeast.
func (r *Retries) next(atLeast time.Duration) time.Duration {
	r.tries++
	if r.tries == 1 {
		return atLeast
	}
	return max(atLeast, Requests.Pause(r.tries-2))
}

// Unknown counts responses from a host that does not know the session over the connection. It returns false after too
// many such responses.
func (r *Retries) Unknown() bool {
	r.unknowns++
	return r.unknowns <= unknownTries
}

// ended returns the error for an abandoned request.
func (r *Retries) ended(cause, last error) error {
	if last == nil {
		last = r.last
	}
	if last == nil || errors.Is(last, cause) || errors.Is(cause, last) {
		return cause
	}
	return fmt.Errorf("%w, after: %w", cause, last)
}

// counterKey is the context key for an operation's retry counter.
type counterKey struct{}

// WithCounter returns a context whose retries are counted in n by the retrying goroutine.
func WithCounter(ctx context.Context, n *int) context.Context {
	return context.WithValue(ctx, counterKey{}, n)
}

func count(ctx context.Context) {
	if n, ok := ctx.Value(counterKey{}).(*int); ok {
		*n++
	}
}
