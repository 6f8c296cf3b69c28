package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/loadgen/report"
)

// barrier has every caller go through rounds of a double barrier, with parties that have a session each.
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
