package signalbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/bench/internal/doors"
	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/bench/internal/failover/failtest"
	"github.com/signalbox/signalbox/bench/internal/growth"
	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/load/loadtest"
	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/server/admin"
)

// program is built from the main module in this repository.
var program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bench-signalbox-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "signalbox")
	build := exec.Command("go", "build", "-o", program, "./cmd/signalbox")
	build.Dir = filepath.Join("..", "..", "..")
	if said, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go build: %v\n%s", err, said))
	}
	return m.Run()
}

// started starts hosts as processes.
func started(t *testing.T, hosts int, flags ...string) (*Cluster, context.Context) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts hosts of Signalbox")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	c, err := Start(ctx, program, t.TempDir(), hosts, 0, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		c.Stop()
	})
	return c, ctx
}

// TestLeadersAreKilled has three hosts, one leading.
func TestLeadersAreKilled(t *testing.T) {
	c, ctx := started(t, 3)
	failtest.KillsAreMeasured(t, c, 2, func(plan failover.Plan) (*report.Report, error) {
		return FailOver(ctx, c, plan, 2)
	})
}

// TestWorkloadsOverHTTPRunOnARealHost runs each workload briefly.
func TestWorkloadsOverHTTPRunOnARealHost(t *testing.T) {
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	_, ctx := started(t, 1, "--http-listen", ports.Addresses[0])
	for name := range doors.Signalbox() {
		t.Run(name, func(t *testing.T) {
			loadtest.Some(t, func(d time.Duration) (*report.Report, error) {
				plan := load.Plan{Workload: name, Callers: 4, Duration: d}
				return doors.Drive(ctx, ports.Addresses, plan, doors.Signalbox())
			})
		})
	}
	if _, err := doors.Drive(ctx, ports.Addresses, load.Plan{Workload: "idle"}, doors.Signalbox()); err == nil {
		t.Error("a workload that is not there is driven")
	}
}

func TestAHostThatHasNotAppliedWhatTheLeaderHadIsBehind(t *testing.T) {
	leaders := map[uint64]uint64{0: 5, 1: 100}
	shard := func(id, leader, applied uint64) admin.ShardStatus {
		return admin.ShardStatus{ID: id, Leader: leader, Applied: applied}
	}
	for _, c := range []struct {
		what   string
		shards []admin.ShardStatus
		want   string
	}{
		{"all applied", []admin.ShardStatus{shard(0, 1, 5), shard(1, 1, 101)}, ""},
		{"one entry is missing", []admin.ShardStatus{shard(0, 1, 5), shard(1, 1, 99)}, "shard 1 has 99 of 100 entries"},
		{"it knows no leader", []admin.ShardStatus{shard(0, 0, 5)}, "shard 0 has no leader"},
		{"none leads", []admin.ShardStatus{shard(2, 1, 5)}, "shard 2 has no leader"},
	} {
		err := behind(admin.Status{Shards: c.shards}, leaders)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// TestAHostGrows fills a host with a little.
func TestAHostGrows(t *testing.T) {
	c, ctx := started(t, 1, "--raft-snapshot-bytes", "64KiB")
	first, err := c.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	loads := 0
	r, err := Grow(ctx, c, growth.Plan{Objects: 300, Sessions: 20}, func(ctx context.Context) (*report.Report, error) {
		if loads++; loads%2 == 0 {
			if err := makeSnapshot(ctx, c, first, loads); err != nil {
				return nil, err
			}
		}
		return &report.Report{PerSecond: 1, LatencyUS: &report.Quantiles{P99: 1}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{growth.Empty, growth.Full, growth.SnapshotTail, growth.Ready} {
		if v, ok := r.Figure(name); !ok || v <= 0 {
			t.Errorf("%s is %v, %v", name, v, ok)
		}
	}
	if d, err := first.Node(node).Describe(ctx, "object-299", client.WithConsistency(client.Strict)); err != nil {
		t.Errorf("what it was filled with is gone after the kill: %v, %v", d, err)
	}
}

// makeSnapshot writes until a host saves a snapshot, and waits for the snapshot.
func makeSnapshot(ctx context.Context, c *Cluster, by *client.Client, round int) error {
	before, err := c.snapshots()
	if err != nil {
		return err
	}
	for i := range 150 { // a batch each
		if err := by.Node(node).Create(ctx, fmt.Sprintf("load-%d-%d", round, i), 1, nil); err != nil {
			return err
		}
	}
	return c.hosts[0].Await("it saves a snapshot", time.Minute, func() bool {
		now, err := c.snapshots()
		return err == nil && now > before
	})
}
