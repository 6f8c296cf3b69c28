package object

import (
	"context"
	"iter"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/core"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
)

// ListOption sets what a list contains.
type ListOption func(*protocol.ListRequest)

// Prefix limits the list to objects whose names start with prefix, byte by byte.
func Prefix(prefix string) ListOption {
	return func(q *protocol.ListRequest) { q.Prefix = protocol.View(prefix) }
}

// After asks only for names behind the given name.
func After(name string) ListOption {
	return func(q *protocol.ListRequest) { q.After = []byte(name) }
}

// ListConsistency sets the read consistency and overrides the node's configured mode.
func ListConsistency(mode client.Consistency) ListOption {
	return func(q *protocol.ListRequest) { q.Consistency = protocol.Consistency(mode) }
}

// List lists all objects with one kind in the node at path, sorted by name. Pages show different moments. ask returns
// the request for a page, and the function that reads the answer.
func List[T any](
	ctx context.Context, c *client.Client, path string, options []ListOption, name func(T) string,
	ask func(protocol.ListRequest) (protocol.ListMessage, func(a *protocol.Answer) cluster.Page[T, string]),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		node := core.Of(c.Node(path))
		id, err := node.ID(ctx)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		q := option.Apply(&protocol.ListRequest{NodeID: id}, options)
		cluster.List(ctx, node.Client().Cluster(), cluster.NearLeader, string(q.After), name,
			func(p cluster.Part[string]) (protocol.ListMessage, func(a *protocol.Answer) cluster.Page[T, string]) {
				part := *q
				part.After, part.Limit, part.ListSlots = []byte(p.After), p.Limit, p.Slots
				return ask(part)
			})(yield)
	}
}
