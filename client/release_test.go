package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/client"
)

// TestAReleaseWithoutACallerEndsWithItsSession: after its caller gave up, a release continues in the background, but
// ends with its session.
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

// TestASessionWhoseCloseIsGivenUpEnds, although other sessions' pings use its connection.
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
