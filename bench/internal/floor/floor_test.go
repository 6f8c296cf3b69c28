package floor

import (
	"os"
	"testing"
	"time"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/load/loadtest"
	"github.com/signalbox/signalbox/internal/subprocess"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/shard"
)

// brief is a plan of one caller.
func brief(d time.Duration) load.Plan {
	return load.Plan{Workload: "floor", Hosts: 1, Callers: 1, Connections: 1, Duration: d}
}

func TestSyncsAreMeasured(t *testing.T) {
	dir := t.TempDir()
	loadtest.Some(t, func(d time.Duration) (*report.Report, error) { return Fsync(t.Context(), dir, brief(d)) })
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

func TestAHostThatLeadsMeasuresProposals(t *testing.T) {
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	members, dir := map[shard.HostID]string{1: ports.Addresses[0]}, t.TempDir()
	loadtest.Some(t, func(d time.Duration) (*report.Report, error) {
		return Serve(t.Context(), dir, 1, members,
			brief(d))
	})
}
