package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// retries decides what becomes of a request that was not carried out, from try to try.
type retries struct {
	tries  int
	moves  int // in a row
	strays int
	last   error
}

// again waits until the request may be sent again, after an error. It returns nil then, and otherwise what
// the request ends with: the error where it is final, or why one of the contexts ended.
func (r *retries) again(ctx, other context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return r.ended(cause, err)
	}
	r.last = err
	wait, final := r.delay(err)
	if !final {
		countRetry(ctx)
	}
	switch {
	case final:
		return err
	case wait == 0:
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return r.ended(context.Cause(ctx), err)
	case <-other.Done():
		return context.Cause(other)
	}
}

// delay is how long to wait after an error before the request may be sent again. final: it may not.
func (r *retries) delay(err error) (wait time.Duration, final bool) {
	if isTransport(err) {
		wait = r.next(0)
	} else {
		switch statusOf(err).Retry() {
		case protocol.RetryNever:
			return 0, true
		case protocol.RetryRenumbered:
		case protocol.RetryElsewhere:
			if r.moves++; r.moves > movesAtOnce {
				wait = r.next(0)
			}
		default:
			if r.tries == 0 {
				r.tries = 1 // a host that answered has just been asked
			}
			wait = r.next(waitOf(err))
		}
	}
	if statusOf(err) != protocol.StatusMoved {
		r.moves = 0
	}
	return wait, false
}

// next is the pause before the next try: none before the second one.
func (r *retries) next(atLeast time.Duration) time.Duration {
	r.tries++
	if r.tries == 1 {
		return atLeast
	}
	return pause(r.tries-2, atLeast)
}

// ended is the error of a request that was given up.
func (r *retries) ended(cause, last error) error {
	if last == nil {
		last = r.last
	}
	if last == nil || errors.Is(last, cause) || errors.Is(cause, last) {
		return cause
	}
	return fmt.Errorf("%w, after: %w", cause, last)
}

// pause is a random part of a time that doubles with each failure, and no less than what a host asks for.
func pause(failures int, atLeast time.Duration) time.Duration {
	most := firstPause << min(failures, 10)
	return max(atLeast, rand.N(min(most, maxPause))+1)
}

// statusOf returns the status that an error carries: that of success where it is no host's answer.
func statusOf(err error) protocol.Status {
	if err == nil {
		return protocol.StatusSuccess // at once: what errors.As is given is allocated
	}
	return statusIn(err)
}

func statusIn(err error) protocol.Status {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return protocol.StatusSuccess
}

// waitOf returns how long the host asks to wait.
func waitOf(err error) time.Duration {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Wait
	}
	return 0
}

// movedTo returns where a host said to go instead.
func movedTo(err error) *protocol.Moved {
	var e *protocol.Error
	if errors.As(err, &e) {
		return &e.Moved
	}
	return &protocol.Moved{}
}
