package loadgen

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

var sessionKind = &kind{
	Info: Info{
		Name:      "session",
		Summary:   "opens sessions and closes them: two changes that are on disk",
		Operation: "open and close",
		Checks:    "that every session has another id, that none is left in the end",
	},
	make: func() workload { return &session{} }, mixes: true,
}

type session struct {
	run    *run
	stages *stages
}

func (w *session) prepare(_ context.Context, r *run) error {
	w.run, w.stages = r, newStages(r.config.Callers, "open", "close")
	return nil
}

func (w *session) caller(i int) operation {
	before := uint64(0)
	return func(ctx context.Context) error {
		began := time.Now()
		s, err := w.run.session(ctx, i)
		if err != nil {
			return err
		}
		opened := w.stages.since(began, i, 0)
		if id := s.ID(); id == before || id == 0 {
			w.run.broken.addf("a session was opened under the id %d, after one of the id %d", id, before)
		} else {
			before = id
		}
		if err = s.Close(ctx); err == nil {
			w.stages.since(opened, i, 1)
		}
		return err
	}
}

func (w *session) begin()                   { w.stages.begin() }
func (w *session) report(to *report.Report) { w.stages.report(to) }

// check looks for sessions that were closed and are there. Where others use the node it cannot tell.
func (w *session) check(ctx context.Context) error {
	if !w.run.owned || w.run.config.Workload != "session" {
		return nil
	}
	left := 0
	for _, err := range w.run.fleet.client(0).Node(w.run.node).Sessions(ctx) {
		if err != nil {
			return err
		}
		left++
	}
	if left > 0 {
		return fmt.Errorf("%d sessions are left, and all were closed", left)
	}
	return nil
}
