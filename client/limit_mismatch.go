package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/signalbox/signalbox/client/internal/session"
)

// LimitMismatch says that the limit of a semaphore differs from the limit that the caller named, with the option Limit
// or in a Create. The semaphore was made with its limit, or was given the limit by a Resize, and the acquire goes by
// the limit of the semaphore.
//
// As an error, errors.As finds it in the error of a Create of a semaphore that exists, and of an Acquire that is
// refused because the count is above the limit.
type LimitMismatch struct {
	// Node is the path of the node, Name the name of the semaphore.
	Node string
	Name string
	// Asked is the limit that the caller named, Limit the limit of the semaphore.
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

// limitMismatches remembers the reports, so that a difference is reported once and not at each acquire.
type limitMismatches struct {
	mu   sync.Mutex
	said map[LimitMismatch]struct{}
}

// maxLimitMismatches bounds the memory of reports. Beyond the bound, reports are repeated.
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

// withLimit adds an *LimitMismatch to the error of a refused operation that named a limit, if the limit of the
// semaphore differs. in is nil without a session.
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
