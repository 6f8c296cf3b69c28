package cli

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client"
)

// outageCheck is how often a command that stays makes sure that a host answers, and how long it waits for that.
const outageCheck = 5 * time.Second

// TellOutages says when no host answers, and when one does again, until the context ends: what waits would be silent otherwise, as the
// client goes on trying.
func TellOutages(ctx context.Context, box *client.Client, say func(format string, args ...any)) {
	ticker := time.NewTicker(outageCheck)
	defer ticker.Stop()
	for silent := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		within, cancel := context.WithTimeout(ctx, outageCheck)
		err := box.Ping(within)
		cancel()
		switch {
		case ctx.Err() != nil, errors.Is(err, client.ErrClosed):
			return
		case err != nil && !silent:
			say("no host answers; still trying")
		case err == nil && silent:
			say("a host answers again")
		}
		silent = err != nil
	}
}
