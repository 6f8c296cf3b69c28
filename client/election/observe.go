package election

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/signalbox/signalbox/client"
)

// Leader is who leads. Where no candidate does, the Fence is 0.
type Leader struct {
	// Fence is that of the term.
	Fence     uint64
	SessionID uint64
	// Data is what the leader gave to Run. It is shared and must not be changed.
	Data []byte
}

// ReadOption sets how Observe and Current read.
type ReadOption func(*readConfig)

type readConfig struct{ consistency client.Consistency }

// Relaxed saves the round among the hosts that the reading of the present leader costs. What is read may be of the past
// by the node's grace period: a leader may be read whose term is over.
func Relaxed() ReadOption {
	return func(c *readConfig) { c.consistency = client.Relaxed }
}

// reading is an election as a description showed it.
type reading struct {
	leader   Leader
	exists   bool
	revision uint64
}

// Observe returns who leads in the election of that name, in the node of that path: the present one first, then
// each change, in the order of the fences, and a Leader without a Fence whenever no candidate leads. The election
// need not exist yet. It ends with an error when the context ends, the node is dropped, or the client is
// closed.
//
// It begins with who leads when it is called, and never goes back behind that, whichever host it watches at. A change
// is seen a moment after it was made; it takes as long as a connection that is lost is not noticed at the worst.
//
// A loop that is slow is given the newest leader, and not those who have come and gone meanwhile.
func Observe(ctx context.Context, c *client.Client, path, name string, options ...ReadOption) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		present, err := read(ctx, c, path, name, options)
		if err != nil {
			yield(Leader{}, fmt.Errorf("election: observe %q: %w", name, err))
			return
		}
		shown := present.leader
		if !yield(shown, nil) {
			return
		}
		for view, err := range c.Node(path).Watch(ctx, name, client.OwnersOnly()) {
			next := shown
			switch {
			case err != nil:
			case present.exists && view.Revision < present.revision:
				// The host is behind what was read, or nothing that is watched has changed since this view.
			case !present.exists && view.Exists:
				// It was made after the reading, or is what that found deleted.
				present, err = read(ctx, c, path, name, options)
				next = present.leader
			default:
				owner, _ := view.First()
				next = leader(owner)
			}
			if err != nil {
				yield(Leader{}, fmt.Errorf("election: observe %q: %w", name, err))
				return
			}
			if next.Fence == shown.Fence {
				continue
			}
			if shown = next; !yield(shown, nil) {
				return
			}
		}
	}
}

// Current returns who leads at the moment; ok is false where no candidate does. Whose term was over when it was called
// is not returned.
func Current(
	ctx context.Context, c *client.Client, path, name string, options ...ReadOption,
) (l Leader, ok bool, err error) {
	present, err := read(ctx, c, path, name, options)
	if err != nil {
		return Leader{}, false, fmt.Errorf("election: observe %q: %w", name, err)
	}
	return present.leader, present.leader.Fence != 0, nil
}

// read reads the election at this moment.
func read(ctx context.Context, c *client.Client, path, name string, options []ReadOption) (r reading, err error) {
	config := readConfig{consistency: client.Strict}
	for _, o := range options {
		o(&config)
	}
	d, err := c.Node(path).Describe(ctx, name, client.WithOwners(), client.WithConsistency(config.consistency))
	if errors.Is(err, client.ErrNotFound) {
		// An election that has had no candidate is no error, a node that does not exist is one.
		_, err = c.DescribeNode(ctx, path)
		return reading{}, err
	}
	if err != nil {
		return reading{}, err
	}
	r = reading{exists: true, revision: d.Revision}
	if len(d.Owners) > 0 {
		r.leader = leader(d.Owners[0])
	}
	return r, nil
}

func leader(o client.Owner) Leader {
	return Leader{Fence: o.OrderID, SessionID: o.SessionID, Data: o.Data}
}
