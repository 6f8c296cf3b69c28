package election

import (
	"context"
	"errors"
	"iter"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
)

// Leader is the candidate that leads. Fence is 0 if no candidate leads.
type Leader struct {
	// Fence is the term's fencing token.
	Fence     uint64
	SessionID uint64
	// Data is the leader's data from its Run call. It is shared and must not be changed.
	Data []byte
}

// ReadOption sets how Observe and Current read.
type ReadOption func(*readConfig)

type readConfig struct {
	consistency client.Consistency
	alone       bool
}

// Relaxed avoids the network round trip among the hosts that a strict read needs. The answer may be out of date by up
// to the node's grace period: the leader's term may be over.
func Relaxed() ReadOption {
	return func(c *readConfig) { c.consistency = client.Relaxed }
}

// ErrShared means that a semaphore has several owners, so no owner leads.
var ErrShared = errors.New("the semaphore has several owners")

// Alone makes Observe fail with ErrShared as soon as the semaphore has several owners. A watch holds all owners in
// memory, and an election has only one owner. A program that observes a name chosen by others can use Alone to bound
// its memory.
func Alone() ReadOption {
	return func(c *readConfig) { c.alone = true }
}

// reading is an election's state in a description.
type reading struct {
	leader   Leader
	exists   bool
	revision uint64
	owners   int
}

// Observe returns the leaders of the named election in the node at path: the current leader first, then each change in
// fencing token order, and a Leader without a Fence whenever no candidate leads. The election need not exist yet. The
// loop ends with an error if the context ends, the node is dropped, or the client is closed.
//
// The loop starts with the leader at the time of the call and never goes back to an earlier leader, whichever host
// serves the watch. Changes appear after a short delay; in the worst case, after a lost connection has been detected.
//
// A slow loop only gets the newest leader and misses the leaders in between.
func Observe(ctx context.Context, c *client.Client, path, name string, options ...ReadOption) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		present, err := read(ctx, c, path, name, options)
		alone := option.Apply(&readConfig{}, options).alone
		if err == nil && alone && present.owners > 1 {
			err = ErrShared
		}
		if err != nil {
			yield(Leader{}, failure.OfName("election", "observe", name, err))
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
			case alone && view.Len() > 1:
				err = ErrShared
			case present.exists && view.Revision < present.revision:
				// The host is behind the reading, or no watched state has changed since this view.
			case !present.exists && view.Exists:
				// The election was created after the reading, or the reading found it deleted and the host is behind.
				present, err = read(ctx, c, path, name, options)
				next = present.leader
			default:
				owner, _ := view.First()
				next = leader(owner)
			}
			if err != nil {
				yield(Leader{}, failure.OfName("election", "observe", name, err))
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

// Current returns the current leader; ok is false if no candidate leads. A leader whose term was over at the time of
// the call is not returned.
func Current(
	ctx context.Context, c *client.Client, path, name string, options ...ReadOption,
) (l Leader, ok bool, err error) {
	present, err := read(ctx, c, path, name, options)
	if err != nil {
		return Leader{}, false, failure.OfName("election", "observe", name, err)
	}
	return present.leader, present.leader.Fence != 0, nil
}

// read reads the election's current state.
func read(ctx context.Context, c *client.Client, path, name string, options []ReadOption) (r reading, err error) {
	config := readConfig{consistency: client.Strict}
	option.Apply(&config, options)
	first := []client.DescribeOption{client.WithOwners(), client.Most(1), client.WithConsistency(config.consistency)}
	for d, err := range c.Node(path).DescribeParts(ctx, name, 0, first...) {
		if errors.Is(err, client.ErrNotFound) {
			// An election without any candidate so far is not an error; a missing node is.
			_, err = c.DescribeNode(ctx, path)
			return reading{}, err
		}
		if err != nil {
			return reading{}, err
		}
		r = reading{exists: true, revision: d.Revision, owners: d.OwnerCount}
		if len(d.Owners) > 0 {
			r.leader = leader(d.Owners[0])
		}
		break
	}
	return r, nil
}

func leader(o client.Owner) Leader {
	return Leader{Fence: o.OrderID, SessionID: o.SessionID, Data: o.Data}
}
