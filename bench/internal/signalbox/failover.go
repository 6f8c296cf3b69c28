package signalbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/loadgen/report"
)

// node is the node for all callers.
const node = "/bench"

// FailOver kills the leader again and again while callers lock and unlock, each through a separate client.
func FailOver(ctx context.Context, c *Cluster, plan failover.Plan, callers int) (*report.Report, error) {
	first, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	defer first.Close()
	if _, err := first.CreateNode(ctx, node, client.NodeConfig{}); err != nil {
		return nil, err
	}
	// The clients end with the cluster.
	all, err := load.Prepare(callers, func(i int) (failover.Caller, error) { return c.caller(ctx, first, i) })
	if err != nil {
		return nil, err
	}
	return failover.Run(ctx, plan, c, all)
}

func (c *Cluster) open(ctx context.Context) (*client.Client, error) {
	return client.Open(ctx, strings.Join(c.Endpoints, ","))
}

// caller creates a caller's semaphore, and a session in a separate client.
func (c *Cluster) caller(ctx context.Context, by *client.Client, i int) (failover.Caller, error) {
	name := fmt.Sprint("lock-", i)
	if err := by.Node(node).Create(ctx, name, 1, nil); err != nil {
		return failover.Caller{}, err
	}
	own, err := c.open(ctx)
	if err != nil {
		return failover.Caller{}, err
	}
	context.AfterFunc(ctx, func() { _ = own.Close() })
	session, err := own.Session(ctx, node, client.Recreate())
	if err != nil {
		return failover.Caller{}, err
	}
	var lease *client.Lease
	return failover.Caller{
		Lock: func(ctx context.Context) (err error) {
			lease, err = session.Semaphore(name).Acquire(ctx)
			return err
		},
		Unlock: func(ctx context.Context) error { return lease.Release(ctx) },
	}, nil
}
