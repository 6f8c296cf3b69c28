package client

import (
	"context"
	"iter"

	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/internal/view"
)

// WatchOption sets what a watch shows.
type WatchOption func(*watchConfig)

type watchConfig = view.Key

// DataOnly omits the owners, for a semaphore that stores configuration.
func DataOnly() WatchOption {
	return func(k *watchConfig) { k.Data, k.Owners = true, false }
}

// OwnersOnly leaves the semaphore's data out.
func OwnersOnly() WatchOption {
	return func(k *watchConfig) { k.Data, k.Owners = false, true }
}

// watch returns a semaphore's views.
func (c *Client) watch(ctx context.Context, node uint64, name string, options []WatchOption) iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		key := watchConfig{Node: node, Name: name, Data: true, Owners: true}
		option.Apply(&key, options)
		var before *view.View
		for v, err := range c.watches.Views(ctx, key) {
			if err != nil {
				// A name need not exist, so the node is missing.
				yield(nil, failedName("watch", name, missing(ErrNodeNotFound, err)))
				return
			}
			if !yield(newView(v, before), nil) {
				return
			}
			before = v
		}
	}
}
