package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// FailOver kills leaders one after the other while callers lock and unlock. Each caller is a separate client that knows
// all members.
func FailOver(ctx context.Context, c *Cluster, plan failover.Plan, callers int) (*report.Report, error) {
	// The clients end with the cluster.
	all, err := load.Prepare(callers, func(i int) (failover.Caller, error) { return c.caller(ctx, i) })
	if err != nil {
		return nil, err
	}
	return failover.Run(ctx, plan, c, all)
}

// caller makes a client with a session and a mutex. After a session's end the caller locks with a new session.
func (c *Cluster) caller(ctx context.Context, i int) (failover.Caller, error) {
	client, err := dial(c.Endpoints...)
	if err != nil {
		return failover.Caller{}, err
	}
	context.AfterFunc(ctx, func() { client.Close() })
	session, err := concurrency.NewSession(client, concurrency.WithContext(ctx))
	if err != nil {
		return failover.Caller{}, err
	}
	name := fmt.Sprintf("/bench/failover/%d", i)
	mutex := concurrency.NewMutex(session, name)
	return failover.Caller{
		Lock: func(ctx context.Context) error {
			select {
			case <-session.Done():
				again, err := concurrency.NewSession(client, concurrency.WithContext(ctx))
				if err != nil {
					return err
				}
				session, mutex = again, concurrency.NewMutex(again, name)
			default:
			}
			return mutex.Lock(ctx)
		},
		Unlock: func(ctx context.Context) error { return mutex.Unlock(ctx) },
	}, nil
}
