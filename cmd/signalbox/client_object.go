package main

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/signalbox/signalbox/client"
)

// clientObject is the client that something belongs to, and since when, as it is printed. What hosts do not know is
// left out.
type clientObject struct {
	Since   *time.Time `json:"since,omitempty"`
	Address string     `json:"address,omitempty"`
	Client  string     `json:"client,omitempty"`
	Version string     `json:"client_version,omitempty"`
}

func newClientObject(since time.Time, c client.ClientInfo) clientObject {
	return clientObject{sinceField(since), c.Address, c.Name, c.Version}
}

// sinceField is a time as it is printed in JSON; nil where it is not known.
func sinceField(since time.Time) *time.Time {
	if since.IsZero() {
		return nil
	}
	since = since.UTC()
	return &since
}

// sinceCell is a time as tables show it.
func sinceCell(since time.Time) string {
	if since.IsZero() {
		return ""
	}
	return since.UTC().Format(time.RFC3339)
}

// sinceOf is sinceCell for a time that may be missing.
func sinceOf(since *time.Time) string {
	if since == nil {
		return ""
	}
	return sinceCell(*since)
}

// clientCell is a client's name and version as tables show them.
func clientCell(c client.ClientInfo) string {
	if c.Name == "" || c.Version == "" {
		return c.Name + c.Version
	}
	return c.Name + " " + c.Version
}

// inNode is a thing with the path of its node.
type inNode[T any] struct {
	path  string
	thing T
}

// eachInNodes lists what the node of the path has, or, where no path is given, what all nodes have that may be listed
// and read. A node that is dropped meanwhile has nothing.
func eachInNodes[T any](ctx context.Context, box *client.Client, args []string,
	list func(*client.Node) iter.Seq2[T, error]) iter.Seq2[inNode[T], error] {
	return func(yield func(inNode[T], error) bool) {
		all := len(args) == 0
		each := func(path string) bool {
			for thing, err := range list(box.Node(path)) {
				if all && (errors.Is(err, client.ErrNodeNotFound) || errors.Is(err, client.ErrUnauthorized)) {
					return true
				}
				if !yield(inNode[T]{path, thing}, err) || err != nil {
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
				yield(inNode[T]{}, err)
				return
			}
			if !each(n.Path) {
				return
			}
		}
	}
}
