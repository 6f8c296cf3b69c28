package signalbox

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/bench/internal/growth"
	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/loadgen/report"
)

// growing is over how many clients semaphores and sessions are spread.
const growing = 8

// Grow fills a single host, and loads the host with load.
func Grow(ctx context.Context, c *Cluster, plan growth.Plan,
	load func(context.Context) (*report.Report, error)) (*report.Report, error) {
	var clients [growing]*client.Client
	for i := range clients {
		opened, err := c.open(ctx)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		clients[i] = opened
	}
	if _, err := clients[0].CreateNode(ctx, node, client.NodeConfig{}); err != nil {
		return nil, err
	}
	return growth.Run(ctx, plan, growth.Subject{
		Server: c, Load: load, Snapshots: c.snapshots,
		Fill: func(ctx context.Context, n int) error {
			return growth.Many(ctx, n, func(ctx context.Context, i int) error {
				return clients[i%growing].Node(node).Create(ctx, fmt.Sprint("object-", i), 1, nil)
			})
		},
		Open: func(ctx context.Context, n int) error {
			return growth.Many(ctx, n, func(ctx context.Context, i int) error {
				_, err := clients[i%growing].Session(ctx, node)
				return err
			})
		},
	})
}

// savedSeries counts a host's saved snapshots for the data shard.
const savedSeries = "signalbox_snapshots_saved_total{shard=\"1\"} "

func (c *Cluster) snapshots() (int, error) {
	code, text := c.hosts[0].Get("/metrics")
	_, after, found := strings.Cut(text, savedSeries)
	if code != http.StatusOK || !found {
		return 0, fmt.Errorf("the metrics of the host have no %s: %d", savedSeries, code)
	}
	value, _, _ := strings.Cut(after, "\n")
	return strconv.Atoi(value)
}
