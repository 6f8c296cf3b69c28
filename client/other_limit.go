package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/signalbox/signalbox/client/internal/incarnation"
)

// OtherLimit says that the limit of a semaphore differs from the limit that the caller named, with the option Limit or
// in a Create. The semaphore was made with its limit, or was given the limit by a Resize, and the acquire goes by the
// limit of the semaphore.
//
// As an error, errors.As finds it in the error of a Create of a semaphore that exists, and of an Acquire that is
// refused because the count is above the limit.
type OtherLimit struct {
	// Node is the path of the node, Name the name of the semaphore.
	Node string
	Name string
	// Asked is the limit that the caller named, Limit the limit of the semaphore.
	Asked uint64
	Limit uint64
}

// Error says both limits.
func (o *OtherLimit) Error() string {
	return fmt.Sprintf("the limit of %q is %s, not %s", o.Name, limitText(o.Limit), limitText(o.Asked))
}

func limitText(n uint64) string {
	if n == All {
		return "all"
	}
	return strconv.FormatUint(n, 10)
}

// otherLimits remembers the reports, so that a difference is reported once and not at each acquire.
type otherLimits struct {
	mu   sync.Mutex
	said map[OtherLimit]struct{}
}

// maxOtherLimits bounds the memory of reports. Beyond the bound, reports are repeated.
const maxOtherLimits = 1024

func (l *otherLimits) first(o OtherLimit) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, said := l.said[o]; said {
		return false
	}
	if l.said == nil || len(l.said) == maxOtherLimits {
		l.said = make(map[OtherLimit]struct{})
	}
	l.said[o] = struct{}{}
	return true
}

// withLimit adds an *OtherLimit to the error of a refused operation that named a limit, if the limit of the semaphore
// differs. in is nil without a session.
func (c *Client) withLimit(
	ctx context.Context, in *incarnation.Incarnation, node uint64, path, name string, asked uint64, refused error,
) error {
	if !errors.Is(refused, ErrAlreadyExists) && !errors.Is(refused, ErrBadRequest) {
		return refused
	}
	d, err := c.describe(ctx, in, node, name, WithConsistency(Strict))
	if err != nil || d.Limit == asked {
		return refused
	}
	return fmt.Errorf("%w: %w", refused, &OtherLimit{Node: path, Name: name, Asked: asked, Limit: d.Limit})
}
