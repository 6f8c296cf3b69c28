package config

import (
	"context"

	"github.com/signalbox/signalbox/client"
)

// Get returns a piece of config, and a revision that grows with every change of it, and may grow without one: it
// is what IfRevision takes. client.ErrSemaphoreNotFound tells that there is none.
//
// It sees every Put that has returned before the call, which costs a round among the hosts: who asks again and
// again should Watch.
func Get(ctx context.Context, c *client.Client, path, name string) (value []byte, revision uint64, err error) {
	d, err := c.Node(path).Describe(ctx, name, client.WithConsistency(client.Strict))
	if err != nil {
		return nil, 0, failed("get", name, err)
	}
	return d.Data, d.Revision, nil
}
