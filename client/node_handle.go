package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/core"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
)

// Node reads a coordination node, and changes its semaphores, without a session: for tools, operators, and programs
// that only look on. To own a semaphore, use a Session.
//
// Changes by a Node are not protected against being carried out twice: if the outcome of a try is not known, the
// change fails with ErrUnavailable, and is not tried again.
type Node struct {
	heldNode
	client *Client
	path   string
	known  atomic.Pointer[nodeID] // nil until the first use
}

// Node returns the node at path, without contacting a host.
func (c *Client) Node(path string) *Node {
	n := &Node{client: c, path: path}
	n.heldNode = core.Hold[core.Node](nodeCore{n})
	return n
}

// Path returns the node path.
func (n *Node) Path() string { return n.path }

// nodeID caches a path's node id. Changes need the client's lock.
type nodeID struct {
	id    atomic.Uint64 // 0 if the id is not known
	asked lifecycle.Instant
	err   error         // from the latest lookup
	busy  chan struct{} // closed when the question under way is over; nil if no question is under way
}

// id returns the node's cached id. With now, the id is at most nodeGap old. Concurrent callers share one lookup.
func (n *Node) id(ctx context.Context, now bool) (uint64, error) {
	if known := n.known.Load(); known != nil && !now {
		if id := known.id.Load(); id != 0 {
			return id, nil
		}
	}
	c := n.client
	if err := c.scope.Usable(); err != nil {
		return 0, err
	}
	c.mu.Lock()
	known := c.nodes[n.path]
	if known == nil {
		known = &nodeID{}
		c.nodes[n.path] = known
	}
	n.known.Store(known)
	if id := known.id.Load(); id != 0 && !(now && c.scope.Now() >= known.asked.Add(nodeGap)) {
		c.mu.Unlock()
		return id, nil
	}
	busy := known.busy
	if busy == nil {
		busy = make(chan struct{})
		if !c.scope.Go(func() { n.ask(known) }) {
			c.mu.Unlock()
			return 0, ErrClosed
		}
		known.busy = busy
	}
	c.mu.Unlock()
	select {
	case <-busy:
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return known.id.Load(), known.err
}

// ask is the question that is under way. The question goes on if the callers give up, because the answer serves the
// next caller.
func (n *Node) ask(known *nodeID) {
	c := n.client
	info, err := c.describeNode(c.scope.Context(), n.path)
	c.mu.Lock()
	defer c.mu.Unlock()
	known.asked, known.err = c.scope.Now(), err
	if err == nil {
		known.id.Store(info.ID)
	} else {
		known.id.Store(0)
		delete(c.nodes, n.path)
	}
	close(known.busy)
	known.busy = nil
}

// do carries out an operation on an object: f is called with the node's id, and once more with the new id if a host
// does not find the node or the object, and the path has a new node by now.
func (n *Node) do(
	ctx context.Context, kind OperationKind, name string, f func(ctx context.Context, id uint64) error,
) error {
	ctx, op := n.client.begin(ctx, kind, n.path, name)
	err := n.withID(ctx, name, f)
	op.end(err)
	return err
}

// semaphore is do for a semaphore.
func (n *Node) semaphore(
	ctx context.Context, kind OperationKind, name string, f func(ctx context.Context, id uint64) error,
) error {
	return failedName(string(kind), name, n.do(ctx, kind, name, f))
}

func (n *Node) withID(ctx context.Context, name string, f func(ctx context.Context, id uint64) error) error {
	if err := checkName(name); err != nil {
		return err
	}
	id, err := n.id(ctx, false)
	if err != nil {
		return failedNode("describe node", n.path, err)
	}
	err = f(ctx, id)
	if errors.Is(err, ErrNotFound) {
		another, idErr := n.id(ctx, true)
		if idErr != nil {
			return failedNode("describe node", n.path, idErr)
		}
		if another != id {
			err = f(ctx, another)
		}
	}
	return err
}

// Describe describes a semaphore. OnChanged needs a session.
func (n *Node) Describe(ctx context.Context, name string, options ...DescribeOption) (d *SemaphoreDetails, err error) {
	err = n.semaphore(ctx, OpDescribe, name, func(ctx context.Context, id uint64) (err error) {
		d, err = n.client.describe(ctx, nil, id, name, options...)
		return err
	})
	return d, err
}

// Watch returns a semaphore's views: the current view first, then a newer view whenever the semaphore has changed. The
// name need not exist. The loop ends with an error if the context ends, the node is dropped, or the client is closed.
// After a lost connection, the loop continues at another host without missing a change.
//
// A slow loop gets the newest view, with all Changes since the previous view. Watches on one semaphore through one
// Client share the host's stream.
func (n *Node) Watch(ctx context.Context, name string, options ...WatchOption) iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		var id uint64
		err := checkName(name)
		if err == nil {
			id, err = n.id(ctx, true)
			err = failedNode("describe node", n.path, err)
		}
		if err != nil {
			yield(nil, failedName("watch", name, err))
			return
		}
		n.client.watch(ctx, id, name, options)(yield)
	}
}

// Create creates a semaphore: see Semaphore.Create.
func (n *Node) Create(ctx context.Context, name string, limit uint64, data []byte) error {
	return n.semaphore(ctx, OpCreate, name, func(ctx context.Context, id uint64) error {
		err := n.send(ctx, id, name, &protocol.SemaphoreCreate{
			NodeID: id, Name: protocol.View(name), Limit: limit, Data: slices.Clone(data),
		})
		return n.client.withLimit(ctx, nil, id, n.path, name, limit, err)
	})
}

// Update replaces a semaphore's data. Guard needs a session.
func (n *Node) Update(ctx context.Context, name string, data []byte, options ...UpdateOption) error {
	c := newUpdateConfig(options)
	if c.lease != nil {
		return failedName("update", name,
			failure.BadRequest("a node has no leases; use Update on the lease, or on a semaphore in its session"))
	}
	return n.semaphore(ctx, OpUpdate, name, func(ctx context.Context, id uint64) error {
		return n.send(ctx, id, name, &protocol.SemaphoreUpdate{
			NodeID: id, Name: protocol.View(name), Data: slices.Clone(data), ExpectedRevision: c.revision,
		})
	})
}

// Resize gives a semaphore a new limit: see Semaphore.Resize.
func (n *Node) Resize(ctx context.Context, name string, limit uint64, options ...UpdateOption) error {
	c, err := newResizeConfig(limit, options)
	if err != nil {
		return failedName("resize", name, err)
	}
	return n.semaphore(ctx, OpResize, name, func(ctx context.Context, id uint64) error {
		return n.send(ctx, id, name, &protocol.SemaphoreResize{
			NodeID: id, Name: protocol.View(name), Limit: limit, ExpectedRevision: c.revision,
		})
	})
}

// Delete deletes a semaphore. If the semaphore is in use, Delete fails with ErrPreconditionFailed unless Force is set.
func (n *Node) Delete(ctx context.Context, name string, options ...DeleteOption) error {
	c := option.Apply(&deleteConfig{}, options)
	return n.semaphore(ctx, OpDelete, name, func(ctx context.Context, id uint64) error {
		return n.send(ctx, id, name, &protocol.SemaphoreDelete{
			NodeID: id, Name: protocol.View(name), Force: c.force,
		})
	})
}

// send sends a change without a session, and does not try again once a host may have carried out the change.
func (n *Node) send(ctx context.Context, id uint64, name string, m protocol.RequestMessage) error {
	where := cluster.LeaderAt(protocol.SemaphoreSlot(id, protocol.View(name)))
	return n.client.cluster.DoOnce(ctx, where, m, nil)
}
