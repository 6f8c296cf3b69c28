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
	// DefaultSessions is the largest number of sessions of a limiter without Sessions.
	DefaultSessions = 1000
	// idleTime is how long a session is kept that no slot uses.
	idleTime = time.Minute
	// retryPause is how long an attempt pauses after the loss of its session before another session takes the place in
	// the queue.
	retryPause = 50 * time.Millisecond
)

var (
	// ErrNotAcquired: no slot was obtained, and no function was run. The cause is in the error too.
	ErrNotAcquired = lock.ErrNotAcquired
	// ErrLost: the slot was obtained, and lost before its release. Another session may have had the slot meanwhile.
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

// Sessions sets the largest number of sessions of the limiter: how many of its goroutines have a slot or a place in
// the cluster's queue at a time. The number should be no less than the limit.
func Sessions(n int) Option {
	return func(c *config) { c.sessions = n }
}

// SessionTimeout sets the timeout of the limiter's sessions: how long the slots of a process that died stay taken.
func SessionTimeout(d time.Duration) Option {
	return func(c *config) { c.timeout = d }
}

// Data attaches data to the holders of slots. Readers of the semaphore see the data: the address of the process, for
// example.
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
