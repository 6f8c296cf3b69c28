// Package failtest is for tests that kill real leaders.
package failtest

import (
	"testing"

	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/loadgen/report"
)

// cluster is the measurement's cluster, with additions for tests.
type cluster interface {
	failover.Cluster
	PID(host int) int
}

// KillsAreMeasured kills leaders, and checks that each kill ended a process and that a new process replaced it.
func KillsAreMeasured(t *testing.T, c cluster, kills int, run func(failover.Plan) (*report.Report, error)) {
	t.Helper()
	leader, err := c.AwaitCaughtUp(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := c.PID(leader)
	r, err := run(failover.Plan{Kills: kills, Hosts: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AwaitCaughtUp(t.Context()); err != nil {
		t.Errorf("the cluster is not whole any more: %v", err)
	}
	if c.PID(leader) == before {
		t.Errorf("the leader's process %d was not killed", before)
	}
	if r.Operations != int64(kills) {
		t.Errorf("%d kills were measured, want %d", r.Operations, kills)
	}
	for _, name := range []string{failover.Next, failover.NextWorst, failover.Every, failover.EveryWorst} {
		if v, ok := r.Figure(name); !ok || v <= 0 {
			t.Errorf("%s is %v, %v", name, v, ok)
		}
	}
}
