package race

import (
	"context"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/bench/internal/etcd"
	"github.com/signalbox/signalbox/bench/internal/signalbox"
	"github.com/signalbox/signalbox/loadgen/report"
)

// grows reports whether a task fills a server: this process then starts and fills the server, and separate load
// generators measure locks.
func (t Task) grows() bool { return t.Workload == "growth" }

// locking is the task measured on a growing server.
func (t Task) locking() Task {
	t.Workload = "lock"
	return t
}

func (s Signalbox) growth(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	cluster, err := signalbox.Start(ctx, s.Binary, t.Dir, t.Hosts, t.LinkDelay)
	if err != nil {
		return nil, nil, err
	}
	defer cluster.Stop()
	command := slices.Concat([]string{s.Loadgen, "run"}, t.locking().planFlags(),
		[]string{"--endpoints", strings.Join(cluster.Endpoints, ","), "--output", "json"})
	result, err := signalbox.Grow(ctx, cluster, t.Growth, func(ctx context.Context) (*report.Report, error) {
		return output(ctx, t, "loadgen", command)
	})
	return result, append(cluster.Commands(), command), err
}

func (e Etcd) growth(ctx context.Context, t Task) (*report.Report, [][]string, error) {
	cluster, err := etcd.Start(ctx, e.Binary, t.Dir, t.Hosts, t.LinkDelay)
	if err != nil {
		return nil, nil, err
	}
	defer cluster.Stop()
	result, err := etcd.Grow(ctx, cluster, t.Growth, func(ctx context.Context) (*report.Report, error) {
		r, _, err := drive(ctx, t.locking(), e.Self, "etcd", cluster.Endpoints, nil)
		return r, err
	})
	return result, cluster.Commands(), err
}
