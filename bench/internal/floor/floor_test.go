package floor

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/bench/internal/process"
	"github.com/signalbox/signalbox/shard"
)

var brief = load.Plan{Workload: "floor", Hosts: 1, Callers: 1, Connections: 1, Duration: time.Second}

func TestSyncsAreMeasured(t *testing.T) {
	r, err := Fsync(t.Context(), t.TempDir(), brief)
	if err != nil {
		t.Fatal(err)
	}
	if r.Operations == 0 || r.Errors.Total() > 0 {
		t.Errorf("%d operations, errors: %v", r.Operations, r.Errors)
	}
}

func TestAHostThatLeadsMeasuresProposals(t *testing.T) {
	addresses, err := process.FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Serve(t.Context(), t.TempDir(), 1, map[shard.HostID]string{1: addresses[0]}, brief)
	if err != nil {
		t.Fatal(err)
	}
	if r.Operations == 0 || r.Errors.Total() > 0 {
		t.Errorf("%d proposals, errors: %v", r.Operations, r.Errors)
	}
}
