package assign

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client/process"
)

// order is the coordinator's order to members, in JSON.
type order struct {
	Kind orderKind `json:"kind"`
	// Parts are the parts to stop.
	Parts []string `json:"parts,omitempty"`
	// Shares are the parts to start, by member.
	Shares map[uint64][]string `json:"shares,omitempty"`
}

type orderKind string

const (
	// orderReport asks for the member's partitions.
	orderReport orderKind = "report"
	// orderStart gives the member parts.
	orderStart orderKind = "start"
	// orderStop takes partitions away. The member replies once work on all listed partitions has ended.
	orderStop orderKind = "stop"
)

// report lists a member's partitions.
type report struct {
	// Held are the parts with their tokens.
	Held map[string]uint64 `json:"held,omitempty"`
	// Stopping lists held partitions whose work is about to end.
	Stopping map[string]bool `json:"stopping,omitempty"`
	// Leaving: the member takes no more parts.
	Leaving bool `json:"leaving,omitempty"`
}

var errLeaving = errors.New("the member is leaving")

func (m *Member) handler() process.Handler {
	return process.Handler{Prepare: m.prepare, Coordinate: m.coordinate, Request: m.obey, Complete: m.complete}
}

// prepare stores the membership that new partitions belong to.
func (m *Member) prepare(_ context.Context, r *process.Round) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.membership = r.Membership()
	return nil
}

// obey carries out the coordinator's order.
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
			if !m.desk.start(r.Membership(), Partition{Name: part, Token: r.Epoch()}) {
				return nil, errLeaving
			}
		}
		return nil, nil
	case orderStop:
		stopped := m.desk.stop(o.Parts)
		reply := q.Defer()
		go func() {
			if await(r.Context(), stopped) == nil {
				_ = reply.Reply(r.Context(), nil) // if the round is over, the next coordinator asks again
			}
		}()
		return nil, nil
	}
	return nil, fmt.Errorf("unknown order %q for an assignment member", o.Kind)
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

// complete starts the partitions that the assignment gives to the member and that have not started yet. All other
// partitions were stopped before the assignment was made.
func (m *Member) complete(_ context.Context, r *process.Round, result *process.Result) {
	var a Assignment
	if err := result.Decode(&a); err != nil {
		return // the coordinator does not run assignments
	}
	for _, p := range a.Of(r.Self()) {
		m.desk.start(r.Membership(), p)
	}
}
