package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// readStrict: every caller syncs and reads znodes; together this is never a stale read.
func (d *Driver) readStrict(ctx context.Context) (*report.Report, error) { return d.read(ctx, true) }

// readRelaxed: every caller reads znodes from its session's server.
func (d *Driver) readRelaxed(ctx context.Context) (*report.Report, error) { return d.read(ctx, false) }

func (d *Driver) read(ctx context.Context, strict bool) (*report.Report, error) {
	sessions, err := d.sessions(ctx)
	if err != nil {
		return nil, err
	}
	parent := "/bench-" + d.plan.Workload
	acl := zk.WorldACL(zk.PermAll)
	if _, err := sessions[0].Create(parent, nil, 0, acl); err != nil {
		return nil, fmt.Errorf("create %s: %w", parent, err)
	}
	paths, err := load.Prepare(load.Pieces, func(i int) (string, error) {
		return sessions[0].Create(fmt.Sprintf("%s/%d", parent, i), []byte(load.Value(0)), 0, acl)
	})
	if err != nil {
		return nil, err
	}
	for _, session := range sessions {
		// After the sync the session's server has all znodes, and no later read can miss one.
		if _, err := session.Sync(parent); err != nil {
			return nil, fmt.Errorf("sync: %w", err)
		}
	}
	return load.Read(ctx, d.plan, load.Store{
		Strict: strict,
		Write: func(_ context.Context, i int, value string) error {
			_, err := sessions[0].Set(paths[i], []byte(value), -1)
			return err
		},
		Read: func(_ context.Context, caller, i int) ([]byte, error) {
			session := sessions[caller]
			if strict {
				if _, err := session.Sync(paths[i]); err != nil {
					return nil, err
				}
			}
			value, _, err := session.Get(paths[i])
			if errors.Is(err, zk.ErrNoNode) {
				return nil, fmt.Errorf("%w: znode %s is gone", load.ErrBroken, paths[i])
			}
			return value, err
		},
	})
}
