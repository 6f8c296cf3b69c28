package election

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/signalbox/signalbox/client"
)

// Leader is who leads. That nobody does is told by a Fence of 0.
type Leader struct {
	// Fence is that of the term.
	Fence     uint64
	SessionID uint64
	// Data is what the leader gave to Run. It is shared and must not be changed.
	Data []byte
}

// Observe returns who leads in the election of that name, in the node of that path: the present one first, then
// each change, in the order of the fences, and a Leader without a Fence whenever nobody leads. The election
// need not exist yet. It ends with an error when the context ends, the node is dropped, or the client is
// closed.
//
// A loop that is slow is given the newest leader, and not those who have come and gone meanwhile.
func Observe(ctx context.Context, c *client.Client, path, name string) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		var told Leader
		first := true
		for view, err := range c.Node(path).Watch(ctx, name, client.OwnersOnly()) {
			if err != nil {
				yield(Leader{}, fmt.Errorf("election: observe %q: %w", name, err))
				return
			}
			owner, _ := view.First()
			if !first && owner.OrderID == told.Fence {
				continue
			}
			first, told = false, leader(owner)
			if !yield(told, nil) {
				return
			}
		}
	}
}

// Current returns who leads at the moment; ok is false where nobody does.
func Current(ctx context.Context, c *client.Client, path, name string) (l Leader, ok bool, err error) {
	d, err := c.Node(path).Describe(ctx, name, client.WithOwners())
	if errors.Is(err, client.ErrNotFound) {
		// An election that has had no candidate is no error, a node that does not exist is one.
		if _, err = c.DescribeNode(ctx, path); err == nil {
			return Leader{}, false, nil
		}
	}
	switch {
	case err != nil:
		return Leader{}, false, fmt.Errorf("election: observe %q: %w", name, err)
	case len(d.Owners) == 0:
		return Leader{}, false, nil
	}
	return leader(d.Owners[0]), true, nil
}

func leader(o client.Owner) Leader {
	return Leader{Fence: o.OrderID, SessionID: o.SessionID, Data: o.Data}
}
