package rollout

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// Verdict is what a checker says of a target.
type Verdict uint8

// The verdicts. A gate begins as pending: what no checker has passed is not passed.
const (
	VerdictPending Verdict = iota
	VerdictPassed
	VerdictFailed
	VerdictInconclusive
	verdicts
)

var verdictNames = [verdicts]string{
	VerdictPending: "pending", VerdictPassed: "passed", VerdictFailed: "failed", VerdictInconclusive: "inconclusive",
}

// String returns the verdict as people read it.
func (v Verdict) String() string { return verdictNames[v] }

// Gate is what must be passed before a target counts as reached.
type Gate struct {
	Name     string
	Verdict  Verdict
	By, Text string
	Since    uint64 // moment of the verdict
}

// GateVerdict is a checker's command.
type GateVerdict struct {
	Location, Gate string
	// Seq is the version that was checked, Generation the target; 0 is the present one of that version.
	Seq, Generation uint64
	Verdict         Verdict
	By, Text        string
}

// Judge takes a verdict over. One about another version than the target is stale. A gate that turns to another verdict
// than passed after the target was reached takes that back: nothing flows on from there until it passes.
func (r *Rollout) Judge(at At, g GateVerdict) Answer {
	if g.Verdict >= verdicts || !form.FitText(MaxText, g.By, g.Text) {
		return refuse(protocol.StatusBadRequest, "a verdict is pending, passed, failed or inconclusive; text: %d bytes",
			MaxText)
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
	if gate.Verdict == g.Verdict && gate.By == g.By && gate.Text == g.Text {
		r.run(at, false)
		return Answer{Seq: t.Seq, Generation: t.Generation}
	}
	if !at.mayGrow(len(g.By) + len(g.Text) - len(gate.By) - len(gate.Text)) {
		return noRoom()
	}
	turned := gate.Verdict != g.Verdict
	gate.Verdict, gate.By, gate.Text, gate.Since = g.Verdict, g.By, g.Text, clock.Moment(at.Now)
	r.changeLocation(at, l)
	if turned && t.Reached != 0 && !t.Waived && g.Verdict != VerdictPassed {
		t.Reached, t.ReachedWall = 0, 0
		at.event(Event{Kind: EventUnreached, Location: l.Spec.Name, Seq: t.Seq, Generation: t.Generation})
		if v := r.Version(t.Seq); v != nil && v.Withdrawn {
			r.abandon(at, l, g.Text)
		}
	}
	r.run(at, true)
	return Answer{Seq: t.Seq, Generation: t.Generation}
}

func (l *Location) gate(name string) *Gate {
	for k := range l.Gates {
		if l.Gates[k].Name == name {
			return &l.Gates[k]
		}
	}
	return nil
}

func (l *Location) gatesPassed() bool {
	for k := range l.Gates {
		if l.Gates[k].Verdict != VerdictPassed {
			return false
		}
	}
	return true
}

// setGates makes the gates those of the spec. Gates that stay keep their verdicts.
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
