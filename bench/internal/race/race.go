package race

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/signalbox/signalbox/bench/internal/results"
	"github.com/signalbox/signalbox/loadgen/report"
)

// Progress hears of every run that ended.
type Progress func(round int, t Task, contestant string, took time.Duration, result *report.Report, err error)

// Run runs all cells, round after round, and within a round each cell by one contestant after the other,
// so that what drifts on the machine drifts for all. What a run fails with is part of the report; the end
// of the context ends the race, and the report has what there is until then.
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

// runTask has every contestant that can do a task do it.
func runTask(ctx context.Context, round int, t Task, contestants []Contestant, r *results.Report, progress Progress) {
	for _, c := range contestants {
		if !t.isFor(c.Name(), t.Hosts) || ctx.Err() != nil {
			continue
		}
		began := time.Now()
		result, commands, err := runIn(ctx, t, c)
		if ctx.Err() != nil {
			return // it was broken off, which is no failure of the contestant
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

// runIn gives a run a directory of its own.
func runIn(ctx context.Context, t Task, c Contestant) (*report.Report, [][]string, error) {
	dir, err := os.MkdirTemp(t.Dir, c.Name()+"-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a directory for data: %w", err)
	}
	defer os.RemoveAll(dir)
	t.Dir = dir
	return c.Run(ctx, t)
}
