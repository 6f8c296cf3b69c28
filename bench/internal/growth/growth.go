// Package growth measures the cost of many objects: the lock rate on an empty server, then with many semaphores and
// sessions, without and with a snapshot being saved; then the restart time after a kill.
package growth

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/bench/internal/failover"
	"github.com/signalbox/signalbox/loadgen/report"
)

// Plan says how much the server is filled with.
type Plan struct {
	Objects  int
	Sessions int
}

// Server is one server, the process of host 0.
type Server interface {
	failover.Cluster
	PID(host int) int
}

// Subject is a server with the measurement's functions.
type Subject struct {
	Server
	// Fill makes n semaphores, or the peer's equivalent.
	Fill func(ctx context.Context, n int) error
	// Open opens n sessions until the context ends; nil if the server cannot have this many.
	Open func(ctx context.Context, n int) error
	// Snapshots returns the count of saved snapshots; nil if snapshots do not contain the filled objects.
	Snapshots func() (int, error)
	// Load measures locks for a while.
	Load func(ctx context.Context) (*report.Report, error)
}

// Names of reported figures.
const (
	Empty         = "cycles a second, empty"
	Full          = "cycles a second, full"
	EmptyTail     = "p99 of a cycle, empty"
	FullTail      = "p99 of a cycle, full"
	SnapshotTail  = "p99 of a cycle, full, beside a snapshot"
	ObjectMemory  = "resident memory of a semaphore"
	SessionMemory = "resident memory of a session"
	Ready         = "from the start after a kill until it serves"
)

// patience bounds a start.
const patience = 10 * time.Minute

// attempts is how often the full server is loaded at the most until a snapshot comes meanwhile, and a load without one.
const attempts = 12

// Run measures a server.
func Run(ctx context.Context, plan Plan, s Subject) (*report.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	r := &report.Report{Workload: "growth", Hosts: 1, Operations: 1, Sessions: plan.Sessions}
	for _, step := range []struct {
		what string
		do   func(context.Context, Plan, *report.Report) error
	}{
		{"load the empty server", s.loadEmpty}, {"fill it", s.fill}, {"open sessions", s.open},
		{"load the full server", s.loadFull}, {"start it after a kill", s.restart},
	} {
		if err := step.do(ctx, plan, r); err != nil {
			return nil, fmt.Errorf("growth: %s: %w", step.what, err)
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

func add(r *report.Report, name string, value float64, unit string) {
	r.Figures = append(r.Figures, report.Figure{Name: name, Value: value, Unit: unit})
}

func (s Subject) loadEmpty(ctx context.Context, _ Plan, r *report.Report) error {
	l, err := s.Load(ctx)
	if err == nil {
		r.Callers, r.Connections = l.Callers, l.Connections
		add(r, Empty, l.PerSecond, "/s")
		addTail(r, EmptyTail, l)
	}
	return err
}

func addTail(r *report.Report, name string, l *report.Report) {
	if l.LatencyUS != nil {
		add(r, name, l.LatencyUS.P99/1000, "ms")
	}
}

func (s Subject) fill(ctx context.Context, plan Plan, r *report.Report) error {
	return s.weigh(r, ObjectMemory, plan.Objects, func() error { return s.Fill(ctx, plan.Objects) })
}

func (s Subject) open(ctx context.Context, plan Plan, r *report.Report) error {
	if s.Open == nil {
		return nil
	}
	return s.weigh(r, SessionMemory, plan.Sessions, func() error { return s.Open(ctx, plan.Sessions) })
}

// weigh adds the process's growth per object for n objects.
func (s Subject) weigh(r *report.Report, name string, n int, do func() error) error {
	before, err := resident(s.PID(0))
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := resident(s.PID(0))
	if err == nil && n > 0 {
		add(r, name, float64(after-before)/float64(n), "B")
	}
	return err
}

// loadFull loads the server until it has one measurement with a snapshot saved meanwhile, and one without.
func (s Subject) loadFull(ctx context.Context, _ Plan, r *report.Report) error {
	var calm, beside bool
	for n := 0; n < attempts && !(calm && (beside || s.Snapshots == nil)); n++ {
		l, saved, err := s.loadOnce(ctx)
		if err != nil {
			return err
		}
		switch {
		case saved == 0 && !calm:
			add(r, Full, l.PerSecond, "/s")
			addTail(r, FullTail, l)
			calm = true
		case saved > 0 && !beside:
			addTail(r, SnapshotTail, l)
			beside = true
		}
	}
	return nil
}

// loadOnce loads the server, and returns how many snapshots were saved meanwhile.
func (s Subject) loadOnce(ctx context.Context) (l *report.Report, saved int, err error) {
	if s.Snapshots == nil {
		l, err = s.Load(ctx)
		return l, 0, err
	}
	before, err := s.Snapshots()
	if err != nil {
		return nil, 0, err
	}
	if l, err = s.Load(ctx); err != nil {
		return nil, 0, err
	}
	after, err := s.Snapshots()
	return l, after - before, err
}

func (s Subject) restart(ctx context.Context, _ Plan, r *report.Report) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %v", patience))
	defer cancel()
	s.Kill(0)
	began := time.Now()
	if err := s.Start(0); err != nil {
		return err
	}
	if _, err := s.AwaitCaughtUp(ctx); err != nil {
		return err
	}
	add(r, Ready, time.Since(began).Seconds(), "s")
	return nil
}

// together is how many objects Many creates concurrently.
const together = 256

// Many creates n objects, many concurrently, and returns the first error.
func Many(ctx context.Context, n int, one func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(together, n) {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := one(ctx, i); err != nil {
					cancel(fmt.Errorf("%d of %d: %w", i, n, err))
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}

// resident is a process's memory in bytes, from /proc.
func resident(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	return parseResident(text)
}

// parseResident reads the second field in statm, a page count.
func parseResident(text []byte) (int64, error) {
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("memory of a process: %q has no second field", text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("memory of a process: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}
