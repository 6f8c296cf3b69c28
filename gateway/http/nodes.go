package http

import (
	"context"
	"errors"
	"iter"

	"github.com/signalbox/signalbox/client"
)

const (
	// defaultPage is how many items a list has where the request does not say, and maxPage how many at the most.
	defaultPage = 1000
	maxPage     = 10_000
)

// atNode names a node.
type atNode struct {
	Node string `need:"true" about:"the path of the node, such as /prod/jobs"`
}

// named names an object in a node.
type named struct {
	atNode
	Name string `need:"true" about:"the name in the node"`
}

// paged says how much of a list is wanted.
type paged struct {
	Prefix string `about:"only what begins with it"`
	Limit  int    `about:"how many at the most: 1000 where it is not given, 10000 at the most"`
}

// list is the answer of a route that lists something.
type list[T any] struct {
	Items []T
	More  bool `about:"there are more: ask for a longer prefix"`
}

// collect makes a list of a loop.
func collect[T any](loop iter.Seq2[T, error], limit int) (l list[T], err error) {
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	l.Items = []T{}
	for item, err := range loop {
		if err != nil {
			return l, err
		}
		if len(l.Items) == limit {
			l.More = true
			break
		}
		l.Items = append(l.Items, item)
	}
	return l, nil
}

// overNodes makes a list of what one node has, or all nodes have. A node that is dropped meanwhile has nothing.
func overNodes[T any](
	ctx context.Context, c *call, q *objectsRequest, of func(node string) iter.Seq2[T, error],
) (list[T], error) {
	if q.Node != "" {
		return collect(of(q.Node), q.Limit)
	}
	return collect(func(yield func(T, error) bool) {
		for node, err := range c.caller.ListNodes(ctx, "") {
			if err != nil {
				var nothing T
				yield(nothing, err)
				return
			}
			for item, err := range of(node.Path) {
				if errors.Is(err, client.ErrNodeNotFound) {
					break
				}
				if !yield(item, err) || err != nil {
					return
				}
			}
		}
	}, q.Limit)
}

// inNode changes the items of a loop.
func inNode[S, T any](loop iter.Seq2[S, error], change func(S) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range loop {
			if err != nil {
				var nothing T
				yield(nothing, err)
				return
			}
			if !yield(change(item), nil) {
				return
			}
		}
	}
}

// nodeRequest is about a node and its config.
type nodeRequest struct {
	atNode
	Config client.NodeConfig `about:"what is left out is as it was, or the default"`
}

type alterRequest struct {
	nodeRequest
	IfVersion uint64 `about:"only if the config has this version"`
}

// nodeRoutes are about nodes.
func nodeRoutes() []route {
	const group = "Nodes"
	return []route{
		get("/nodes", group, "see", "Lists nodes by their paths",
			func(ctx context.Context, c *call, q *paged) (list[*client.NodeInfo], error) {
				return collect(c.caller.ListNodes(ctx, q.Prefix), q.Limit)
			}),
		get("/node", group, "see", "Describes a node",
			func(ctx context.Context, c *call, q *atNode) (*client.NodeInfo, error) {
				return c.caller.DescribeNode(ctx, q.Node)
			}),
		post("/node/create", group, "admin", "Creates a node; one that exists is returned as it is",
			func(ctx context.Context, c *call, q *nodeRequest) (*client.NodeInfo, error) {
				return c.caller.CreateNode(ctx, q.Node, q.Config)
			}),
		post("/node/alter", group, "admin", "Changes what is given of a node's config",
			func(ctx context.Context, c *call, q *alterRequest) (*client.NodeInfo, error) {
				var options []client.AlterOption
				if q.IfVersion > 0 {
					options = append(options, client.IfVersion(q.IfVersion))
				}
				return c.caller.AlterNode(ctx, q.Node, q.Config, options...)
			}),
		post("/node/drop", group, "admin", "Drops a node with all that is in it",
			func(ctx context.Context, c *call, q *atNode) (done, error) {
				return done{true}, c.caller.DropNode(ctx, q.Node)
			}),
	}
}
