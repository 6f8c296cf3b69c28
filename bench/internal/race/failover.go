package race

import (
	"context"

	"github.com/signalbox/signalbox/bench/internal/etcd"
	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/bench/internal/signalbox"
	"github.com/signalbox/signalbox/bench/internal/zookeeper"
	"github.com/signalbox/signalbox/loadgen/report"
)

// fails reports whether a task kills leaders: this process then starts the servers and runs their callers.
func (t Task) fails() bool { return t.Workload == "failover" }

func (t Task) failPlan() failover.Plan { return failover.Plan{Kills: t.Kills, Hosts: t.Hosts} }

func (s Signalbox) failover(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	cluster, err := signalbox.Start(ctx, s.Binary, t.Dir, t.Hosts, t.LinkDelay)
	if err != nil {
		return nil, nil, err
	}
	defer cluster.Stop()
	return failOver(ctx, t, cluster, cluster.Commands(), signalbox.FailOver)
}

func (e Etcd) failover(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	cluster, err := etcd.Start(ctx, e.Binary, t.Dir, t.Hosts, t.LinkDelay)
	if err != nil {
		return nil, nil, err
	}
	defer cluster.Stop()
	return failOver(ctx, t, cluster, cluster.Commands(), etcd.FailOver)
}

func (z ZooKeeper) failover(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	cluster, err := zookeeper.Start(ctx, z.Installation, t.Dir, t.Hosts, t.LinkDelay)
	if err != nil {
		return nil, nil, err
	}
	defer cluster.Stop()
	return failOver(ctx, t, cluster, cluster.Commands(), zookeeper.FailOver)
}

// failOver measures a cluster. The callers' sessions end before the cluster.
func failOver[C any](ctx context.Context, t Task, cluster C, commands [][]string,
	run func(context.Context, C, failover.Plan, int) (*report.Report, error)) (*report.Report, [][]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result, err := run(ctx, cluster, t.failPlan(), t.Callers)
	return result, commands, err
}
