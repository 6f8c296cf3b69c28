package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/client"
)

// A release that its caller no longer waits for goes on in the background, but not for a session that is over:
// such a release has nothing to do, and must come to an end.
func TestAReleaseThatNobodyWaitsForEndsWithItsSession(t *testing.T) {
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
