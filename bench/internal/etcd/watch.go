package etcd

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signalbox/signalbox/bench/internal/load"
)

const watched = "/bench/watched"

// watch has watchers of one key, spread over the clients, and one that puts the key.
func (d *Driver) watch(ctx context.Context) (load.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	feeds, err := load.Prepare(d.plan.Watchers, func(i int) (load.Feed, error) {
		// Watch returns when the member has the watcher.
		responses := d.client(i).Watch(ctx, watched)
		return feed(responses), ctx.Err()
	})
	if err != nil {
		return load.Result{}, err
	}
	return load.Watch(ctx, d.plan, feeds, func(ctx context.Context, n int64) error {
		_, err := d.clients[0].Put(ctx, watched, load.Value(n))
		return err
	})
}

func feed(responses clientv3.WatchChan) load.Feed {
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
