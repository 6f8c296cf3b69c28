package zookeeper

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// lock: every caller locks and unlocks its own lock.
func (d *Driver) lock(ctx context.Context) (*report.Report, error) {
	return d.locks(ctx, func(caller int) string { return fmt.Sprintf("/bench/lock/%d", caller) },
		func(int) *load.Exclusion { return new(load.Exclusion) })
}

// handoff: all callers lock and unlock the same lock.
func (d *Driver) handoff(ctx context.Context) (*report.Report, error) {
	var one load.Exclusion
	return d.locks(ctx, func(int) string { return "/bench/handoff" },
		func(int) *load.Exclusion { return &one })
}

// locks: every caller locks and unlocks the lock at a path, in a separate session.
func (d *Driver) locks(ctx context.Context, path func(caller int) string,
	of func(caller int) *load.Exclusion) (*report.Report, error) {
	operations, err := load.Prepare(d.plan.Callers, func(i int) (load.Operation, error) {
		session, err := d.connect(ctx, i)
		if err != nil {
			return nil, err
		}
		lock := zk.NewLock(session, path(i), zk.WorldACL(zk.PermAll))
		cycle := of(i).Cycle(
			func(context.Context) error { return lock.Lock() },
			func(context.Context) error { return lock.Unlock() },
		)
		return cycle, cycle(ctx)
	})
	if err != nil {
		return nil, err
	}
	return load.Loop(ctx, d.plan, operations)
}

// session: every caller opens and closes sessions.
func (d *Driver) session(ctx context.Context) (*report.Report, error) {
	operations := make([]load.Operation, d.plan.Callers)
	for i := range operations {
		operations[i] = func(ctx context.Context) error {
			session, err := d.connect(ctx, i)
			if err != nil {
				return err
			}
			session.Close()
			return nil
		}
	}
	return load.Loop(ctx, d.plan, operations)
}
