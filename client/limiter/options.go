package limiter

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/lock"
)

const (
	// DefaultSessions is the default maximum number of sessions per limiter.
	DefaultSessions = 1000
	// idleTime is how long an unused session is kept.
	idleTime = time.Minute
	// retryPause is the pause after a session is lost, before another session takes over its queue position.
	retryPause = 50 * time.Millisecond
)

var (
	// ErrNotAcquired: no slot was obtained, and no function was run. The cause is in the error too.
	ErrNotAcquired = lock.ErrNotAcquired
	// ErrLost means that the slot was lost before its release. Another session may have held the slot meanwhile.
	ErrLost = lock.ErrLost
	// ErrClosed: the limiter was closed.
	ErrClosed = errors.New("the limiter is closed")
)

// Option sets how a limiter works.
type Option func(*config)

type config struct {
	sessions int
	timeout  time.Duration
	data     []byte
}

// Sessions sets the maximum number of sessions: how many of the limiter's goroutines can have a slot or a position in
// the cluster's queue at a time. It should be at least the limit. Default: DefaultSessions.
func Sessions(n int) Option {
	return func(c *config) { c.sessions = n }
}

// SessionTimeout sets the session timeout: how long slots stay taken after a process has failed.
func SessionTimeout(d time.Duration) Option {
	return func(c *config) { c.timeout = d }
}

// Data attaches data to slot holders, visible to readers of the semaphore, for example the process's address.
func Data(data []byte) Option {
	data = slices.Clone(data)
	return func(c *config) { c.data = data }
}

func newConfig(limit uint64, options []Option) (config, error) {
	c := config{sessions: DefaultSessions, timeout: client.DefaultSessionTimeout}
	option.Apply(&c, options)
	switch {
	case limit == 0:
		return c, fmt.Errorf("%w: the limit must be at least 1", client.ErrBadRequest)
	case c.sessions < 1:
		return c, fmt.Errorf("%w: at least one session is needed, not %d", client.ErrBadRequest, c.sessions)
	}
	return c, nil
}
