package loadgen

import (
	"context"
	"fmt"
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
	plain
	run *run
}

func (w *session) prepare(_ context.Context, r *run) error {
	w.run = r
	return nil
}

func (w *session) caller(i int) operation {
	before := uint64(0)
	return func(ctx context.Context) error {
		s, err := w.run.session(ctx, i)
		if err != nil {
			return err
		}
		if id := s.ID(); id == before || id == 0 {
			w.run.broken.addf("a session was opened under the id %d, after one of the id %d", id, before)
		} else {
			before = id
		}
		return s.Close(ctx)
	}
}

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
