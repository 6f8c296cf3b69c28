package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// lock: every caller locks and unlocks its own mutex.
func (d *Driver) lock(ctx context.Context) (*report.Report, error) {
	return d.mutexes(ctx, func(caller int) string { return fmt.Sprintf("/bench/lock/%d", caller) },
		func(int) *load.Exclusion { return new(load.Exclusion) })
}

// handoff: all callers lock and unlock the same mutex.
func (d *Driver) handoff(ctx context.Context) (*report.Report, error) {
	var one load.Exclusion
	return d.mutexes(ctx, func(int) string { return "/bench/handoff" },
		func(int) *load.Exclusion { return &one })
}

// mutexes: every caller locks and unlocks the mutex with the given name, in its own session.
func (d *Driver) mutexes(ctx context.Context, name func(caller int) string,
	of func(caller int) *load.Exclusion) (*report.Report, error) {
	operations, err := load.Prepare(d.plan.Callers, func(i int) (load.Operation, error) {
		session, err := concurrency.NewSession(d.client(i), concurrency.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		mutex := concurrency.NewMutex(session, name(i))
		cycle := of(i).Cycle(mutex.Lock, mutex.Unlock)
		return cycle, cycle(ctx)
	})
	if err != nil {
		return nil, err
	}
	return load.Loop(ctx, d.plan, operations)
}

// barrier: every caller runs rounds of a double barrier, with one session for each party.
func (d *Driver) barrier(ctx context.Context) (*report.Report, error) {
	operations, err := load.Prepare(d.plan.Callers, func(i int) (load.Operation, error) {
		parties := make([]load.Party, load.Parties)
		for k := range parties {
			session, err := concurrency.NewSession(d.client(i*load.Parties+k), concurrency.WithContext(ctx))
			if err != nil {
				return nil, err
			}
			b := recipe.NewDoubleBarrier(session, fmt.Sprintf("/bench/barrier/%d", i), load.Parties)
			parties[k] = load.Party{
				Enter: func(context.Context) error { return b.Enter() },
				Leave: func(context.Context) error { return b.Leave() },
			}
		}
		round := load.Rounds(parties)
		return round, round(ctx)
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
		client := d.client(i)
		operations[i] = func(ctx context.Context) error {
			s, err := concurrency.NewSession(client, concurrency.WithContext(ctx))
			if err != nil {
				return err
			}
			return s.Close()
		}
	}
	return load.Loop(ctx, d.plan, operations)
}
