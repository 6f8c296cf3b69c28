package rollout

import (
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/liveview"
	"github.com/signalbox/signalbox/gateway/operation"
)

// Changes describes what has changed in a rollout since before, one line per change; before is nil at first.
func (v *view) Changes(before *view) []string {
	c, now := changes{}, v
	switch {
	case before != nil && before.Exists && !now.Exists:
		c.Say(now.name, "is deleted")
	case !now.Exists:
		c.Say(now.name, "does not exist")
	}
	if !now.Exists {
		return c.Text
	}
	if before == nil || !before.Exists {
		before = &view{State: &rollout.State{}}
	}
	if a := &now.LastAct; a.ID != before.LastAct.ID {
		c.Say(now.name, "%s", actLine(a))
	}
	if now.LastSeq != before.LastSeq {
		c.Say(now.name, "the newest is version %s", now.version(now.LastSeq))
	}
	if now.Phase != before.Phase {
		c.Say(now.name, "%v", now.Phase)
	}
	for i := range now.Locations {
		l := &now.Locations[i]
		was := before.Location(l.Name)
		if was == nil {
			was = &rollout.LocationState{}
		}
		c.location(now, was, l)
	}
	return c.Text
}

// location adds a location's changes.
func (c *changes) location(of *view, before, now *rollout.LocationState) {
	was, is := &before.Target, &now.Target
	another := is.Generation != 0 && was.Generation != is.Generation
	version := of.version(is.Seq)
	if another {
		c.Say(now.Name, "gets version %s: %v", version, is.Cause)
		was = &rollout.Row{}
	}
	if !was.Reached.Happened && is.Reached.Happened {
		c.Say(now.Name, "has reached version %s%s", version, took(is))
	}
	if was.Reached.Happened && !is.Reached.Happened && is.Generation != 0 {
		c.Say(now.Name, "has not reached version %s any more", version)
	}
	if !was.Abandoned.Happened && is.Abandoned.Happened {
		c.Say(now.Name, "abandons version %s%s", version, cli.BehindColon(is.Note))
	}
	for _, g := range now.Gates {
		if g.Verdict.Result != verdictBefore(before, g.Name, another) {
			c.Say(now.Name, "gate %s: %v%s", g.Name, g.Verdict.Result, cli.BehindColon(g.Verdict.Text))
		}
	}
	if now.Stalled && (another || !before.Stalled) {
		c.Say(now.Name, "is stuck")
	}
	if now.Bypassed != before.Bypassed {
		word := "is in the order again"
		if now.Bypassed {
			word = "is bypassed"
		}
		c.Say(now.Name, "%s", word)
	}
	if now.Back != 0 && now.Back != before.Back {
		c.Say(now.Name, "rolls back to version %d after the location before", now.Back)
	}
}

// verdictBefore returns a gate's previous verdict; a new target's gate has none.
func verdictBefore(l *rollout.LocationState, name string, another bool) rollout.Result {
	if g := cli.Find(l.Gates, func(g *rollout.GateState) bool { return g.Name == name }); g != nil && !another {
		return g.Verdict.Result
	}
	return rollout.GatePending
}

// took returns how long it took to reach a target.
func took(t *rollout.Row) string {
	if !t.Assigned.Happened {
		return ""
	}
	return " after " + operation.ShortTime(t.Assigned.Ago-t.Reached.Ago)
}

// changes collects lines.
type changes struct{ liveview.Lines }
