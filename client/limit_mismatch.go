package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/signalbox/signalbox/client/internal/session"
)

// LimitMismatch reports that a semaphore's limit differs from the limit that the caller named with the option Limit or
// in a Create. The limit was set when the semaphore was created or resized, and acquires use the semaphore's limit.
//
// As an error, LimitMismatch is found by errors.As in the error from a Create if the semaphore exists, and from an
// Acquire that is rejected because the count exceeds the limit.
type LimitMismatch struct {
	// Node is the node path, Name the semaphore name.
	Node string
	Name string
	// Asked is the limit that the caller named, Limit the semaphore's limit.
	Asked uint64
	Limit uint64
}

// Error says both limits.
func (l *LimitMismatch) Error() string {
	return fmt.Sprintf("the limit of %q is %s, not %s", l.Name, limitText(l.Limit), limitText(l.Asked))
}

func limitText(n uint64) string {
	if n == All {
		return "all"
	}
	return strconv.FormatUint(n, 10)
}

// limitMismatches remembers reports, so a difference is reported once instead of on every acquire.
type limitMismatches struct {
	mu   sync.Mutex
	said map[LimitMismatch]struct{}
}

// maxLimitMismatches bounds the remembered reports. Beyond it, reports are repeated.
const maxLimitMismatches = 1024

func (l *limitMismatches) first(o LimitMismatch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, said := l.said[o]; said {
		return false
	}
	if l.said == nil || len(l.said) == maxLimitMismatches {
		l.said = make(map[LimitMismatch]struct{})
	}
	l.said[o] = struct{}{}
	return true
}

// withLimit adds a *LimitMismatch to the error from a rejected operation that named a limit, if the semaphore's limit
// differs. in is nil without a session.
func (c *Client) withLimit(
	ctx context.Context, in *session.Incarnation, node uint64, path, name string, asked uint64, refused error,
) error {
	if !errors.Is(refused, ErrAlreadyExists) && !errors.Is(refused, ErrBadRequest) {
		return refused
	}
	d, err := c.describe(ctx, in, node, name, WithConsistency(Strict))
	if err != nil || d.Limit == asked {
		return refused
	}
	return fmt.Errorf("%w: %w", refused, &LimitMismatch{Node: path, Name: name, Asked: asked, Limit: d.Limit})
}
