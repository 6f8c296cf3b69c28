package discovery

import (
	"context"
	"errors"
	"iter"

	"github.com/signalbox/signalbox/client"
)

// Watch returns the endpoints: at once, even if there is no endpoint, and then whenever they have changed. The node
// must exist, the name need not.
//
// The loop ends with an error when the context ends, the node is dropped, or the client is closed; lost connections
// and changes of leader do not end the loop. A slow loop gets the newest set, with all changes since the set before:
// endpoints that came and left in between are not in the set.
func Watch(ctx context.Context, c *client.Client, path, name string) iter.Seq2[*Set, error] {
	return func(yield func(*Set, error) bool) {
		before, first := &Set{}, true
		for v, err := range c.Node(path).Watch(ctx, name, client.OwnersOnly()) {
			if err != nil {
				yield(nil, failed("watch", name, err))
				return
			}
			s := after(before, v)
			changed := first || s.differs(before)
			before, first = s, false
			if changed && !yield(s, nil) {
				return
			}
		}
	}
}

// Follow calls f with all endpoints, immediately and after every change, until the context ends. Follow returns the
// same errors as a Watch loop. f must not change the list.
//
// Follow suits name resolvers: a goroutine calls Follow and is stopped by the context.
func Follow(ctx context.Context, c *client.Client, path, name string, f func([]Endpoint)) error {
	for s, err := range Watch(ctx, c, path, name) {
		if err != nil {
			return err
		}
		f(s.Endpoints)
	}
	return nil
}

// Each lists the endpoints after an order id, sorted by order id; 0 lists all. Like List, it includes every
// registration that returned before the call. Each reads in sections, for programs that cannot hold all endpoints in
// memory: endpoints that are added or removed meanwhile may be missing.
func Each(ctx context.Context, c *client.Client, path, name string, after uint64) iter.Seq2[Endpoint, error] {
	return func(yield func(Endpoint, error) bool) {
		options := []client.DescribeOption{client.WithOwners(), client.WithConsistency(client.Strict)}
		for part, err := range c.Node(path).DescribeParts(ctx, name, after, options...) {
			if err != nil {
				if err = missing(ctx, c, path, name, err); err != nil {
					yield(Endpoint{}, err)
				}
				return
			}
			for i := range part.Owners {
				if e, ok := decode(&part.Owners[i]); ok && !yield(e, nil) {
					return
				}
			}
		}
	}
}

// missing returns why a list cannot be read. An unused name is an empty list and returns nil; a missing node is an
// error.
func missing(ctx context.Context, c *client.Client, path, name string, err error) error {
	if errors.Is(err, client.ErrNotFound) {
		if _, err = c.DescribeNode(ctx, path); err == nil {
			return nil
		}
	}
	return failed("list", name, err)
}

// List returns the current endpoints, sorted by order id, including every registration that returned before the call.
// This needs a network round trip among the hosts, so use Watch instead of polling.
func List(ctx context.Context, c *client.Client, path, name string) ([]Endpoint, error) {
	d, err := c.Node(path).Describe(ctx, name, client.WithOwners(), client.WithConsistency(client.Strict))
	if err != nil {
		return nil, missing(ctx, c, path, name, err)
	}
	list := make([]Endpoint, 0, len(d.Owners))
	for i := range d.Owners {
		if e, ok := decode(&d.Owners[i]); ok {
			list = append(list, e)
		}
	}
	return list, nil
}
