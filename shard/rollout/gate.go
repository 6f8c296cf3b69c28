package rollout

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Gate must pass before a target counts as reached.
type Gate struct {
	Name     string
	Verdict  kind.Result
	By, Text string
	Since    uint64 // timestamp of the verdict
}

// Judge records a verdict. A verdict about a version other than the target is stale. If a gate withdraws its pass after
// the target was reached, later locations get nothing from here until the gate passes again. A pending verdict names
// the checker, and replaces no verdict.
func (r *Rollout) Judge(at At, g kind.GateReport) Answer {
	if g.Verdict.Result >= kind.Results || !codec.FitText(kind.MaxText, g.By, g.Verdict.Text) {
		return refuse(protocol.StatusBadRequest, "a verdict is pending, passed, failed or inconclusive; text: %d bytes",
			kind.MaxText)
	}
	l := r.Find(g.Location)
	if l == nil {
		return refuse(protocol.StatusNotFound, "there is no location %q", g.Location)
	}
	gate := l.gate(g.Gate)
	if gate == nil {
		return refuse(protocol.StatusNotFound, "%s has no gate %q", g.Location, g.Gate)
	}
	t := l.Target()
	if t == nil || g.Seq != t.Seq || g.Generation != 0 && g.Generation != t.Generation {
		a := refuse(protocol.StatusFenced, "the target of %s is %d, not %d", g.Location, l.present(), g.Seq)
		a.Seq = l.present()
		return a
	}
	if gate.Verdict == g.Verdict.Result && gate.By == g.By && gate.Text == g.Verdict.Text {
		r.run(at, false)
		return Answer{Seq: t.Seq, Generation: t.Generation}
	}
	if g.Verdict.Result == kind.GatePending && gate.Verdict != kind.GatePending {
		return refuse(protocol.StatusPreconditionFailed, "the gate %s of %s is %v for version %d: take that back by "+
			"inconclusive, or by failed", g.Gate, g.Location, gate.Verdict, g.Seq)
	}
	if !at.mayGrow(len(g.By) + len(g.Verdict.Text) - len(gate.By) - len(gate.Text)) {
		return noRoom()
	}
	turned := gate.Verdict != g.Verdict.Result
	gate.Verdict, gate.By, gate.Text, gate.Since = g.Verdict.Result, g.By, g.Verdict.Text, clock.Moment(at.Now)
	r.changeLocation(at, l)
	if turned && t.Reached != 0 && !t.Waived && g.Verdict.Result != kind.GatePassed {
		t.Reached, t.ReachedWall = 0, 0
		at.event(Event{Kind: eventUnreached, Location: l.Spec.Name, Seq: t.Seq, Generation: t.Generation})
		if v := r.Version(t.Seq); v != nil && v.Withdrawn {
			r.abandon(at, l, g.Verdict.Text)
		}
	}
	r.run(at, true)
	return Answer{Seq: t.Seq, Generation: t.Generation}
}

func (l *Location) gate(name string) *Gate {
	if k := slices.IndexFunc(l.Gates, func(g Gate) bool { return g.Name == name }); k >= 0 {
		return &l.Gates[k]
	}
	return nil
}

func (l *Location) gatesPassed() bool {
	return !slices.ContainsFunc(l.Gates, func(g Gate) bool { return g.Verdict != kind.GatePassed })
}

// setGates applies the spec's gates. Gates that remain keep their verdicts.
func (l *Location) setGates() {
	var list []Gate
	for _, name := range l.Spec.Gates {
		g := Gate{Name: name}
		if old := l.gate(name); old != nil {
			g = *old
		}
		list = append(list, g)
	}
	l.Gates = list
}
