package main

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/shape"
)

// sinceCell is a time as tables show it.
func sinceCell(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return since.UTC().Format(time.RFC3339)
}

// eachInNodes lists what the node of the path has, or, where no path is given, what all nodes have that may be listed
// and read. A node that is dropped meanwhile has nothing.
func eachInNodes[T any](ctx context.Context, box *client.Client, args []string,
	list func(*client.Node) iter.Seq2[T, error]) iter.Seq2[shape.InNode[T], error] {
	return func(yield func(shape.InNode[T], error) bool) {
		all := len(args) == 0
		each := func(path string) bool {
			for thing, err := range list(box.Node(path)) {
				if all && (errors.Is(err, client.ErrNodeNotFound) || errors.Is(err, client.ErrUnauthorized)) {
					return true
				}
				if !yield(shape.InNode[T]{Node: path, Item: thing}, err) || err != nil {
					return false
				}
			}
			return true
		}
		if !all {
			each(args[0])
			return
		}
		for n, err := range box.ListNodes(ctx, "") {
			if err != nil {
				yield(shape.InNode[T]{}, err)
				return
			}
			if !each(n.Path) {
				return
			}
		}
	}
}
