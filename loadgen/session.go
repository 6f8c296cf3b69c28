package loadgen

import (
	"context"
	"fmt"
	"time"
)

var sessionKind = &kind{
	Info: Info{
		Name:      "session",
		Summary:   "opens and closes sessions: two changes on disk",
		Operation: "open and close",
		Checks:    "every session has a new id; no session is left in the end",
	},
	make: func() workload { return &session{} }, mixes: true,
}

// session is the workload session: every caller opens and closes sessions, one after another.
type session struct {
	*stages
	run *run
}

func (s *session) prepare(_ context.Context, r *run) error {
	s.run, s.stages = r, newStages(r.config.Callers, "open", "close")
	return nil
}

func (se *session) caller(i int) operation {
	before := uint64(0)
	return func(ctx context.Context) error {
		began := time.Now()
		s, err := se.run.session(ctx, i)
		if err != nil {
			return err
		}
		opened := se.stages.since(began, i, 0)
		if id := s.ID(); id == before || id == 0 {
			se.run.broken.addf("a session was opened under the id %d, after one of the id %d", id, before)
		} else {
			before = id
		}
		if err = s.Close(ctx); err == nil {
			se.stages.since(opened, i, 1)
		}
		return err
	}
}

// check looks for closed sessions that still exist. In a shared node the check is impossible, because the node may
// have foreign sessions.
func (s *session) check(ctx context.Context) error {
	if !s.run.owned || s.run.config.Workload != "session" {
		return nil
	}
	left := 0
	for _, err := range s.run.fleet.client(0).Node(s.run.node).Sessions(ctx) {
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
