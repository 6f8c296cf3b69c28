package race

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/signalbox/signalbox/bench/internal/results"
	"github.com/signalbox/signalbox/loadgen/report"
)

// Progress is called after every run.
type Progress func(round int, t Task, contestant string, took time.Duration, result *report.Report, err error)

// Run runs all cells, round after round, and within a round each cell by one contestant after the other, so that the
// machine's drift affects all equally. Failures of runs are part of the report; the context's end ends the race with a
// partial report.
func Run(ctx context.Context, cells []Cell, contestants []Contestant, s Settings, r *results.Report,
	progress Progress) {
	began := time.Now()
	r.Started = began
	r.Settings = results.Settings{
		Rounds: s.Rounds, WarmupSeconds: s.Warmup.Seconds(), DurationSeconds: s.Duration.Seconds(),
		JavaWarmupSeconds: s.JavaWarmup.Seconds(), Connections: s.Connections,
		SyncDelaySeconds: s.SyncDelay.Seconds(), LinkDelaySeconds: s.LinkDelay.Seconds(),
	}
	for round := 1; round <= s.Rounds && ctx.Err() == nil; round++ {
		for _, cell := range cells {
			for _, hosts := range cell.Hosts {
				runTask(ctx, round, Task{cell, hosts, s}, contestants, r, progress)
			}
		}
	}
	if ctx.Err() != nil {
		r.Ended = context.Cause(ctx).Error()
	}
	r.Seconds = time.Since(began).Seconds()
	r.Conclude()
}

// runTask runs a task with every able contestant.
func runTask(ctx context.Context, round int, t Task, contestants []Contestant, r *results.Report, progress Progress) {
	for _, c := range contestants {
		if !t.isFor(c.Name(), t.Hosts) || ctx.Err() != nil {
			continue
		}
		began := time.Now()
		result, commands, err := runIn(ctx, t, c)
		if ctx.Err() != nil {
			return // an interrupted run is no failure of the contestant
		}
		run := results.Run{Round: round}
		if err != nil {
			run.Failed = err.Error()
		} else {
			run.Result = result
		}
		r.Add(t.Name, t.Hosts, c.Name(), commands, run)
		progress(round, t, c.Name(), time.Since(began), result, err)
	}
}

// runIn gives each run its own directory.
func runIn(ctx context.Context, t Task, c Contestant) (*report.Report, [][]string, error) {
	dir, err := os.MkdirTemp(t.Dir, c.Name()+"-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory for data: %w", err)
	}
	defer os.RemoveAll(dir)
	t.Dir = dir
	return c.Run(ctx, t)
}
