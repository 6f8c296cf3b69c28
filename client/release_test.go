package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/client"
)

// TestAReleaseWithoutACallerEndsWithItsSession: a release that its caller no longer waits for goes on in the
// background, but not for a session that is over: such a release has nothing to do, and must come to an end.
func TestAReleaseWithoutACallerEndsWithItsSession(t *testing.T) {
	playInBubbles(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		s := session(t, c)
		check(t, s.Close(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Semaphore(name).Release(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("released: %v", err)
		}
		synctest.Wait() // returns only when nothing goes on
	})
}

// TestASessionWhoseCloseIsGivenUpEnds: a session whose Close is given up ends all the same, though pings of other
// sessions go over its connection.
func TestASessionWhoseCloseIsGivenUpEnds(t *testing.T) {
	playInBubbles(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		s, other := session(t, c), session(t, c)
		acquire(t, s.Semaphore(name, client.Limit(1)))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("closed: %v", err)
		}
		acquire(t, other.Semaphore(name))
	})
}
