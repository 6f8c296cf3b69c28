package process

import (
	"context"
	"iter"

	"github.com/signalbox/signalbox/client/internal/view"
	"github.com/signalbox/signalbox/protocol"
)

// WatchAll returns the process's states, for a program that waits for a state: the current state first, then the newest
// state whenever the process has changed, immediately and without another host request. The states have no reasons,
// timestamps or payloads. The process need not exist.
//
// A host that is behind returns past states, possibly a missing process; within one loop, states only move forward.
//
// The loop ends with an error, as in Watch.
func (p *Process) WatchAll(ctx context.Context) iter.Seq2[*State, error] {
	return func(yield func(*State, error) bool) {
		for v, err := range p.object.Views(ctx, protocol.ObjectProcess, "") {
			var s *State
			if err == nil {
				s, err = shownBy(v)
			}
			if !yield(s, failed("watch", p.Name(), err)) || err != nil {
				return
			}
		}
	}
}

// shownBy reads the state in a view.
func shownBy(v *view.View) (*State, error) {
	s := &State{Revision: v.Revision, Exists: v.Exists}
	if !v.Exists {
		return s, nil
	}
	if err := protocol.ReadRecord(v.Data, &s.Overview, 0); err != nil {
		return nil, err
	}
	for row := range v.Rows.All() {
		if err := s.readRow(row.ID, row.Body, 0); err != nil {
			return nil, err
		}
	}
	return s, nil
}
