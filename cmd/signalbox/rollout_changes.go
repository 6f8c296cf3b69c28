package main

import (
	"fmt"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

// changes says what is other in a rollout than before, a line for each thing; before is nil at first.
func (v *rolloutView) changes(before *rolloutView) []string {
	c, now := changes{}, v
	switch {
	case before != nil && before.Exists && !now.Exists:
		c.say(now.name, "is deleted")
	case !now.Exists:
		c.say(now.name, "does not exist")
	}
	if !now.Exists {
		return c.lines
	}
	if before == nil || !before.Exists {
		before = &rolloutView{State: &rollout.State{}}
	}
	if a := &now.LastAct; a.Number != before.LastAct.Number {
		c.say(now.name, "%s", actLine(a))
	}
	if now.LastSeq != before.LastSeq {
		c.say(now.name, "the newest is version %s", now.version(now.LastSeq))
	}
	if now.Phase != before.Phase {
		c.say(now.name, "%v", now.Phase)
	}
	for i := range now.Locations {
		l := &now.Locations[i]
		was := before.Location(l.Name)
		if was == nil {
			was = &rollout.LocationState{}
		}
		c.location(now, was, l)
	}
	return c.lines
}

// changes gathers lines.
type changes struct{ lines []string }

func (c *changes) say(subject, format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf("%-8s   %s", cli.Safe(subject), cli.Safe(fmt.Sprintf(format, args...))))
}

// location says what is other in a location of a rollout.
func (c *changes) location(of *rolloutView, before, now *rollout.LocationState) {
	was, is := &before.Target, &now.Target
	another := is.Generation != 0 && was.Generation != is.Generation
	version := of.version(is.Seq)
	if another {
		c.say(now.Name, "gets version %s: %v", version, is.Cause)
		was = &rollout.Row{}
	}
	if !was.Reached.Happened && is.Reached.Happened {
		c.say(now.Name, "has reached version %s%s", version, took(is))
	}
	if was.Reached.Happened && !is.Reached.Happened && is.Generation != 0 {
		c.say(now.Name, "has not reached version %s after all", version)
	}
	if !was.Abandoned.Happened && is.Abandoned.Happened {
		c.say(now.Name, "gives version %s up%s", version, behindColon(is.Note))
	}
	for _, g := range now.Gates {
		if g.Verdict.Result != verdictBefore(before, g.Name, another) {
			c.say(now.Name, "gate %s: %v%s", g.Name, g.Verdict.Result, behindColon(g.Verdict.Text))
		}
	}
	if now.Stuck && (another || !before.Stuck) {
		c.say(now.Name, "is stuck")
	}
	if now.Bypassed != before.Bypassed {
		word := "is in the order again"
		if now.Bypassed {
			word = "is bypassed"
		}
		c.say(now.Name, "%s", word)
	}
	if now.Back != 0 && now.Back != before.Back {
		c.say(now.Name, "goes back to version %d after the location before it", now.Back)
	}
}

// verdictBefore is the verdict of a gate; a gate of a new target has none.
func verdictBefore(l *rollout.LocationState, name string, another bool) rollout.Result {
	for _, g := range l.Gates {
		if g.Name == name && !another {
			return g.Verdict.Result
		}
	}
	return rollout.GatePending
}

// took is how long it took to reach a target.
func took(t *rollout.Row) string {
	if !t.Assigned.Happened {
		return ""
	}
	return " after " + operation.ShortTime(t.Assigned.Ago-t.Reached.Ago)
}

// behindColon is a text behind a colon, if there is any.
func behindColon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
