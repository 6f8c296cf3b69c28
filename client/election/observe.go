package election

import (
	"context"
	"errors"
	"iter"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
)

// Leader is the candidate that leads. The Fence is 0 if no candidate leads.
type Leader struct {
	// Fence is the fence of the term.
	Fence     uint64
	SessionID uint64
	// Data is the data that the leader gave to Run. It is shared and must not be changed.
	Data []byte
}

// ReadOption sets how Observe and Current read.
type ReadOption func(*readConfig)

type readConfig struct {
	consistency client.Consistency
	alone       bool
}

// Relaxed saves the round among the hosts that a read of the present leader costs. The answer may be of the past by
// the node's grace period: the term of the leader may be over.
func Relaxed() ReadOption {
	return func(c *readConfig) { c.consistency = client.Relaxed }
}

// ErrShared says that a semaphore has several owners, so none of them leads.
var ErrShared = errors.New("the semaphore has several owners")

// Alone ends Observe with ErrShared as soon as the semaphore has several owners. A watch has all owners in memory, and
// the semaphore of an election has one: so a program that observes a name that others chose bounds its memory.
func Alone() ReadOption {
	return func(c *readConfig) { c.alone = true }
}

// reading is an election as a description showed it.
type reading struct {
	leader   Leader
	exists   bool
	revision uint64
	owners   int
}

// Observe returns who leads in the election of a name, in the node of a path: the present leader first, then each
// change, in the order of the fences, and a Leader without a Fence whenever no candidate leads. The election need not
// exist yet. The loop ends with an error when the context ends, the node is dropped, or the client is closed.
//
// The loop begins with the leader at the time of the call, and never goes back behind the first leader, whichever host
// it watches at. A change is seen a moment later; at the worst, after a lost connection has been noticed.
//
// A slow loop gets the newest leader, and not the leaders that have come and gone meanwhile.
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
				// The host is behind the reading, or nothing that is watched has changed since this view.
			case !present.exists && view.Exists:
				// The election was made after the reading, or the reading found it deleted and the host is behind.
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

// Current returns who leads at the moment; ok is false if no candidate leads. A leader whose term was over at the time
// of the call is not returned.
func Current(
	ctx context.Context, c *client.Client, path, name string, options ...ReadOption,
) (l Leader, ok bool, err error) {
	present, err := read(ctx, c, path, name, options)
	if err != nil {
		return Leader{}, false, failure.OfName("election", "observe", name, err)
	}
	return present.leader, present.leader.Fence != 0, nil
}

// read reads the election at this moment.
func read(ctx context.Context, c *client.Client, path, name string, options []ReadOption) (r reading, err error) {
	config := readConfig{consistency: client.Strict}
	option.Apply(&config, options)
	first := []client.DescribeOption{client.WithOwners(), client.Most(1), client.WithConsistency(config.consistency)}
	for d, err := range c.Node(path).DescribeParts(ctx, name, 0, first...) {
		if errors.Is(err, client.ErrNotFound) {
			// An election that has had no candidate is no error, a node that does not exist is an error.
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
