package client

import (
	"context"
	"iter"
)

// WatchOption sets what a watch shows.
type WatchOption func(*feedKey)

// DataOnly leaves the owners out: for a semaphore that is a piece of config.
func DataOnly() WatchOption {
	return func(k *feedKey) { k.data, k.owners = true, false }
}

// OwnersOnly leaves the semaphore's data out.
func OwnersOnly() WatchOption {
	return func(k *feedKey) { k.data, k.owners = false, true }
}

// watch shows the views of a semaphore.
func (c *Client) watch(ctx context.Context, node uint64, name string, options []WatchOption) iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		key := feedKey{node: node, name: name, data: true, owners: true}
		for _, o := range options {
			o(&key)
		}
		f, err := c.feed(key)
		if err != nil {
			yield(nil, failedName("watch", name, err))
			return
		}
		defer c.leaveFeed(f)
		r := f.join()
		defer f.part(r)
		for {
			v, err := f.next(ctx, r)
			if err != nil {
				// A name need not exist, so it is the node that does not.
				yield(nil, failedName("watch", name, missing(ErrNodeNotFound, err)))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}
