package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/signalbox/signalbox/bench/internal/growth"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// growing is over how many clients keys and sessions are spread.
const growing = 8

// Grow fills a single member with keys and sessions, and runs the given load. Etcd's snapshots do not contain the keys,
// which are in a separate database.
func Grow(ctx context.Context, c *Cluster, plan growth.Plan,
	loaded func(context.Context) (*report.Report, error)) (*report.Report, error) {
	var clients [growing]*clientv3.Client
	for i := range clients {
		client, err := dial(c.Endpoints...)
		if err != nil {
			return nil, err
		}
		defer client.Close()
		clients[i] = client
	}
	return growth.Run(ctx, plan, growth.Subject{
		Server: c, Load: loaded,
		Fill: func(ctx context.Context, n int) error {
			return growth.Many(ctx, n, func(ctx context.Context, i int) error {
				_, err := clients[i%growing].Put(ctx, fmt.Sprint("/bench/object/", i), load.Value(0))
				return err
			})
		},
		Open: func(ctx context.Context, n int) error {
			return growth.Many(ctx, n, func(_ context.Context, i int) error {
				_, err := concurrency.NewSession(clients[i%growing], concurrency.WithContext(ctx))
				return err
			})
		},
	})
}
