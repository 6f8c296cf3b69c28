package etcd

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

const watched = "/bench/watched"

// watch has watchers of one key, spread over the clients, and one writer of the key.
func (d *Driver) watch(ctx context.Context) (*report.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	subscriptions, err := load.Prepare(d.plan.Watchers, func(i int) (load.Subscription, error) {
		// Watch returns when the member has the watcher.
		responses := d.client(i).Watch(ctx, watched)
		return subscription(responses), ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return load.Watch(ctx, d.plan, subscriptions, func(ctx context.Context, n int64) error {
		_, err := d.clients[0].Put(ctx, watched, load.Value(n))
		return err
	})
}

func subscription(responses clientv3.WatchChan) load.Subscription {
	return func(ctx context.Context, seen func(int64) error) error {
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case r, open := <-responses:
				if !open {
					return errors.New("the watch channel was closed")
				}
				if err := r.Err(); err != nil {
					return err
				}
				if err := each(r.Events, seen); err != nil {
					return err
				}
			}
		}
	}
}

func each(events []*clientv3.Event, seen func(int64) error) error {
	for _, e := range events {
		n, err := load.NumberOf(e.Kv.Value)
		if err != nil {
			return err
		}
		if err := seen(n); err != nil {
			return err
		}
	}
	return nil
}
