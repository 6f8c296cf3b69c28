package assign

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client/process"
)

// order is what the coordinator asks of members, in JSON.
type order struct {
	Kind orderKind `json:"kind"`
	// Parts are those to stop.
	Parts []string `json:"parts,omitempty"`
	// Shares are the parts to start, by member.
	Shares map[uint64][]string `json:"shares,omitempty"`
}

type orderKind string

const (
	// orderReport asks what the member has.
	orderReport orderKind = "report"
	// orderStart gives it parts.
	orderStart orderKind = "start"
	// orderStop takes parts away. It is replied to when the work on all of them has ended.
	orderStop orderKind = "stop"
)

// report is what a member has.
type report struct {
	// Held are its parts with their tokens.
	Held map[string]uint64 `json:"held,omitempty"`
	// Stopping are those of them whose work is about to end.
	Stopping map[string]bool `json:"stopping,omitempty"`
	// Leaving: it takes no more.
	Leaving bool `json:"leaving,omitempty"`
}

var errLeaving = errors.New("the member is leaving")

func (m *Member) handler() process.Handler {
	return process.Handler{Prepare: m.prepare, Coordinate: m.coordinate, Process: m.obey, Complete: m.complete}
}

// prepare notes by which membership the member has parts from now on.
func (m *Member) prepare(_ context.Context, r *process.Round) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.membership = r.Membership()
	return nil
}

// obey carries out what the coordinator asks.
func (m *Member) obey(_ context.Context, r *process.Round, q *process.Request) (any, error) {
	var o order
	if err := q.Decode(&o); err != nil {
		return nil, err
	}
	switch o.Kind {
	case orderReport:
		return m.report(r), nil
	case orderStart:
		for _, part := range o.Shares[r.Self()] {
			if !m.desk.start(r.Membership(), Part{Name: part, Token: r.Epoch()}) {
				return nil, errLeaving
			}
		}
		return nil, nil
	case orderStop:
		stopped := m.desk.stop(o.Parts)
		reply := q.Defer()
		go func() {
			if await(r.Context(), stopped) == nil {
				_ = reply.Reply(r.Context(), nil) // where the round is over, the next one asks again
			}
		}()
		return nil, nil
	}
	return nil, fmt.Errorf("a member of an assignment cannot do %q", o.Kind)
}

func (m *Member) report(r *process.Round) report {
	all := report{Held: make(map[string]uint64), Stopping: make(map[string]bool), Leaving: m.desk.isClosed()}
	for _, h := range m.desk.held(r.Membership()) {
		all.Held[h.Name] = h.Token
		if h.Stopping {
			all.Stopping[h.Name] = true
		}
	}
	return all
}

// complete starts what the assignment gives to the member and was not started before. All else was stopped before the
// assignment was made.
func (m *Member) complete(_ context.Context, r *process.Round, result *process.Result) {
	var a Assignment
	if err := result.Decode(&a); err != nil {
		return // the coordinator was no member of an assignment
	}
	for _, p := range a.Of(r.Self()) {
		m.desk.start(r.Membership(), p)
	}
}
