package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// readStrict has every caller read keys, linearizable.
func (d *Driver) readStrict(ctx context.Context) (*report.Report, error) { return d.read(ctx, true) }

// readRelaxed: every caller reads keys from its connection's member.
func (d *Driver) readRelaxed(ctx context.Context) (*report.Report, error) {
	return d.read(ctx, false, clientv3.WithSerializable())
}

func (d *Driver) read(ctx context.Context, strict bool, options ...clientv3.OpOption) (*report.Report, error) {
	keys, err := load.Prepare(load.Pieces, func(i int) (string, error) {
		key := fmt.Sprintf("/bench/read/%d", i)
		_, err := d.clients[0].Put(ctx, key, load.Value(0))
		return key, err
	})
	if err != nil {
		return nil, err
	}
	for _, client := range d.clients {
		// After a linearizable read the client's member has all keys, and no later read can miss one.
		if _, err := client.Get(ctx, keys[0]); err != nil {
			return nil, err
		}
	}
	return load.Read(ctx, d.plan, load.Store{
		Strict: strict,
		Write: func(ctx context.Context, i int, value string) error {
			_, err := d.clients[0].Put(ctx, keys[i], value)
			return err
		},
		Read: func(ctx context.Context, caller, i int) ([]byte, error) {
			got, err := d.client(caller).Get(ctx, keys[i], options...)
			if err != nil {
				return nil, err
			}
			if len(got.Kvs) != 1 {
				return nil, fmt.Errorf("%w: key %s is gone", load.ErrBroken, keys[i])
			}
			return got.Kvs[0].Value, nil
		},
	})
}
