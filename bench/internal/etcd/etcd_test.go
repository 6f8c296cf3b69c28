package etcd

import (
	"context"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdmain"

	"github.com/signalbox/signalbox/bench/internal/doors"
	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/bench/internal/failover/failtest"
	"github.com/signalbox/signalbox/bench/internal/growth"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/load/loadtest"
	"github.com/signalbox/signalbox/loadgen/report"
)

// asServer makes the test program an etcd member.
const asServer = "BENCH_TEST_IS_ETCD"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		etcdmain.Main(os.Args)
		return
	}
	os.Exit(m.Run())
}

// started starts members as processes.
func started(t *testing.T, members int) (*Cluster, context.Context) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts members of etcd")
	}
	t.Setenv(asServer, "yes")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	cluster, err := Start(ctx, program, t.TempDir(), members, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cluster.Stop()
	})
	return cluster, ctx
}

func TestLeadersAreKilled(t *testing.T) {
	cluster, ctx := started(t, 3)
	failtest.KillsAreMeasured(t, cluster, 2, func(plan failover.Plan) (*report.Report, error) {
		return FailOver(ctx, cluster, plan, 2)
	})
}

// TestAMemberGrows fills a member with a little.
func TestAMemberGrows(t *testing.T) {
	cluster, ctx := started(t, 1)
	plan := growth.Plan{Objects: 100, Sessions: 10}
	r, err := Grow(ctx, cluster, plan, func(context.Context) (*report.Report, error) {
		return &report.Report{PerSecond: 1}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{growth.Empty, growth.Full, growth.Ready} {
		if v, ok := r.Figure(name); !ok || v <= 0 {
			t.Errorf("%s is %v, %v", name, v, ok)
		}
	}
	client, err := dial(cluster.Endpoints...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got, err := client.Get(ctx, "/bench/object/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || got.Count != 100 {
		t.Errorf("after the kill %d keys are there, %v", got.Count, err)
	}
}

func TestEveryWorkloadRunsOnRealMembers(t *testing.T) {
	cluster, ctx := started(t, 1)
	for name := range workloads {
		t.Run(name, func(t *testing.T) {
			r := loadtest.Some(t, func(d time.Duration) (*report.Report, error) {
				return Drive(ctx, cluster.Endpoints, load.Plan{
					Workload: name, Hosts: 1, Callers: 4, Connections: 2, Watchers: 8, Duration: d,
				})
			})
			// Events from an update at the start or the end of the measured time have no counted operation.
			if spare := int64(2 * 8); name == "watch" &&
				max(*r.Events-8*r.Operations, 8*r.Operations-*r.Events) > spare {
				t.Errorf("%d events of %d updates for 8 watchers", *r.Events, r.Operations)
			}
		})
	}
	t.Run(doors.Lock, func(t *testing.T) {
		loadtest.Some(t, func(d time.Duration) (*report.Report, error) {
			plan := load.Plan{Workload: doors.Lock, Callers: 4, Duration: d}
			return doors.Drive(ctx, cluster.Endpoints, plan, doors.Etcd())
		})
	})
	home := cluster.dir
	cluster.Stop()
	if _, err := os.Stat(home); !os.IsNotExist(err) {
		t.Errorf("the data in %s is left: %v", home, err)
	}
}

func TestAWorkloadThatIsNotThereIsRefused(t *testing.T) {
	if _, err := Drive(t.Context(), []string{"127.0.0.1:1"}, load.Plan{Workload: "idle"}); err == nil {
		t.Error("etcd took a workload that it does not have")
	}
}
