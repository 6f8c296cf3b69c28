// Package failover measures how long a cluster with three hosts grants no locks after losing its leader. Callers lock
// and unlock, the leader's process is killed, and the clock runs until the first grant of a lock requested after the
// kill. Then the killed host restarts, and once the host has caught up, the next leader is killed.
//
// A lock requested before the kill does not count, because the response may have been on its way.
package failover

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// patience bounds the wait for a lock after a kill and for a host's catching up.
const patience = 2 * time.Minute

// Cluster is a set of host processes, one host being the leader.
type Cluster interface {
	// AwaitCaughtUp waits until all hosts run and have the leader's state as of the call, and returns the leader.
	AwaitCaughtUp(ctx context.Context) (leader int, err error)
	// Kill ends a host's process without warning, and returns after its end.
	Kill(host int)
	// Start restarts a killed host on its old disk, and does not wait until the host serves.
	Start(host int) error
}

// Plan says how often the leader is killed.
type Plan struct {
	Kills int
	Hosts int
}

// Names of reported figures. Times are in milliseconds.
const (
	// Next is the time from the kill to any caller's next lock, median and worst; Every is the time to the slowest
	// caller's lock.
	Next       = "kill of the leader to the next lock, median"
	NextWorst  = "kill of the leader to the next lock, worst"
	Every      = "until every caller has a lock, median"
	EveryWorst = "until every caller has a lock, worst"
	// Failed is how many attempts to lock or unlock failed at all callers together.
	Failed = "failed attempts for each kill"
)

// Run measures a cluster. The callers run until the end.
func Run(ctx context.Context, plan Plan, cluster Cluster, callers []Caller) (*report.Report, error) {
	if plan.Kills < 1 || len(callers) < 1 {
		return nil, fmt.Errorf("fail over: %d kills, %d callers: there must be one at least", plan.Kills, len(callers))
	}
	began := time.Now()
	c := newWorkers(callers)
	c.start(ctx)
	defer c.stop()
	var next, every []time.Duration
	for n := range plan.Kills {
		first, last, err := killOnce(ctx, cluster, c)
		if err != nil {
			return nil, fmt.Errorf("kill %d of %d: %w", n+1, plan.Kills, err)
		}
		next, every = append(next, first), append(every, last)
	}
	return c.report(plan, time.Since(began), next, every), nil
}

// killOnce kills the leader once everything is calm, and returns the time until the first and the last caller had
// acquired a lock. The host runs again when it returns.
func killOnce(ctx context.Context, cluster Cluster, w *workers) (first, last time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	leader, err := cluster.AwaitCaughtUp(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("wait until all hosts are there: %w", err)
	}
	if _, err := w.acquired(ctx, time.Now()); err != nil {
		return 0, 0, fmt.Errorf("wait until every caller has a lock: %w", err)
	}
	began := time.Now()
	cluster.Kill(leader)
	locked, err := w.acquired(ctx, time.Now())
	if err != nil {
		return 0, 0, fmt.Errorf("wait for locks without the leader: %w", err)
	}
	if err := cluster.Start(leader); err != nil {
		return 0, 0, fmt.Errorf("start the killed host: %w", err)
	}
	slices.SortFunc(locked, time.Time.Compare)
	return locked[0].Sub(began), locked[len(locked)-1].Sub(began), nil
}

// report summarises all kills.
func (w *workers) report(plan Plan, took time.Duration, next, every []time.Duration) *report.Report {
	failed := w.failures()
	attempts := int64(0)
	for _, n := range failed {
		attempts += n
	}
	ms := func(name string, value time.Duration) report.Figure {
		return report.Figure{Name: name, Value: float64(value) / float64(time.Millisecond), Unit: "ms"}
	}
	return &report.Report{
		Workload: "failover", Hosts: plan.Hosts, Callers: len(w.callers), Connections: len(w.callers),
		Seconds: took.Seconds(), Operations: int64(plan.Kills), Errors: failed,
		Figures: []report.Figure{
			ms(Next, quantile(next, 0.5)), ms(NextWorst, quantile(next, 1)),
			ms(Every, quantile(every, 0.5)), ms(EveryWorst, quantile(every, 1)),
			{Name: Failed, Value: float64(attempts) / float64(plan.Kills)},
		},
	}
}

// quantile returns the smallest time not exceeded by a share of the times.
func quantile(times []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// ErrEnded is the cause of the callers' errors after the measurement.
var ErrEnded = errors.New("the measurement is over")
