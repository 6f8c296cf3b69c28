package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/signalbox/signalbox/client/internal/incarnation"
)

// OtherLimit says that a semaphore has another limit than the caller named, with the option Limit or in a Create. It
// was made with that limit, or was given it by a Resize, and the acquire goes by it.
//
// As an error it is found with errors.As: in that of a Create of a semaphore that exists, and of an Acquire that is
// refused because it wants more than there is.
type OtherLimit struct {
	// Node and Name are those of the semaphore.
	Node string
	Name string
	// Asked is what the caller named, Limit what the semaphore has.
	Asked uint64
	Limit uint64
}

// Error says both.
func (o *OtherLimit) Error() string {
	return fmt.Sprintf("the limit of %q is %s, not %s", o.Name, limitText(o.Limit), limitText(o.Asked))
}

func limitText(n uint64) string {
	if n == All {
		return "all"
	}
	return strconv.FormatUint(n, 10)
}

// otherLimits remembers what was said, so that it is said once and not at each acquire.
type otherLimits struct {
	mu   sync.Mutex
	said map[OtherLimit]struct{}
}

// maxOtherLimits bounds what is remembered. Where it is more, it is said again.
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

// withLimit adds an *OtherLimit to the error of what named a limit and was refused, where the semaphore has another
// one. in is nil without a session.
func (c *Client) withLimit(
	ctx context.Context, in *incarnation.Incarnation, node uint64, path, name string, asked uint64, refused error,
) error {
	if !errors.Is(refused, ErrAlreadyExists) && !errors.Is(refused, ErrBadRequest) {
		return refused
	}
	d, err := c.describe(ctx, in, node, name, &describeConfig{consistency: Strict})
	if err != nil || d.Limit == asked {
		return refused
	}
	return fmt.Errorf("%w: %w", refused, &OtherLimit{Node: path, Name: name, Asked: asked, Limit: d.Limit})
}
