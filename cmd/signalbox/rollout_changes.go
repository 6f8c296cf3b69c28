package main

import (
	"fmt"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// changes says what is other in a rollout than before, a line for each thing; before is nil at first.
func (o *rolloutObject) changes(before *rolloutObject) []string {
	c, now := changes{}, o
	switch {
	case before != nil && before.Exists && !now.Exists:
		c.say(now.Name, "is deleted")
	case !now.Exists:
		c.say(now.Name, "does not exist")
	}
	if !now.Exists {
		return c.lines
	}
	if before == nil || !before.Exists {
		before = &rolloutObject{}
	}
	if a := now.LastAct; a != nil && (before.LastAct == nil || before.LastAct.Number != a.Number) {
		c.say(now.Name, "%s", a.line())
	}
	if now.Newest != before.Newest {
		c.say(now.Name, "the newest is version %s", versionText(now.Newest, now.Label))
	}
	if now.Phase != before.Phase {
		c.say(now.Name, "%s", now.Phase)
	}
	for i := range now.Locations {
		l := &now.Locations[i]
		c.location(before.find(l.Location), l)
	}
	return c.lines
}

// find returns a location, an empty one where there is none of that name.
func (o *rolloutObject) find(name string) *locationObject {
	for i := range o.Locations {
		if o.Locations[i].Location == name {
			return &o.Locations[i]
		}
	}
	return &locationObject{}
}

// changes gathers lines.
type changes struct{ lines []string }

func (c *changes) say(subject, format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf("%-8s   %s", cli.Safe(subject), cli.Safe(fmt.Sprintf(format, args...))))
}

// location says what is other in a location.
func (c *changes) location(before, now *locationObject) {
	was, is := before.Target, now.Target
	another := is != nil && (was == nil || was.Generation != is.Generation)
	if another {
		c.say(now.Location, "gets version %s: %s", versionText(is.Version, is.Label), is.Cause)
		was = &targetObject{}
	}
	if is != nil && was.ReachedMS == nil && is.ReachedMS != nil {
		c.say(now.Location, "has reached version %s%s", versionText(is.Version, is.Label), is.took())
	}
	if is != nil && was.ReachedMS != nil && is.ReachedMS == nil {
		c.say(now.Location, "has not reached version %s after all", versionText(is.Version, is.Label))
	}
	if is != nil && was.GivenUpMS == nil && is.GivenUpMS != nil {
		c.say(now.Location, "gives version %s up%s", versionText(is.Version, is.Label), behindColon(is.Note))
	}
	for _, g := range now.Gates {
		if g.Verdict != before.verdict(g.Gate, another) {
			c.say(now.Location, "gate %s: %s%s", g.Gate, g.Verdict, behindColon(g.Text))
		}
	}
	if now.Stuck && (another || !before.Stuck) {
		c.say(now.Location, "is stuck")
	}
	if now.Bypassed != before.Bypassed {
		word := "is in the order again"
		if now.Bypassed {
			word = "is bypassed"
		}
		c.say(now.Location, "%s", word)
	}
	if now.Back != 0 && now.Back != before.Back {
		c.say(now.Location, "goes back to version %d after the location before it", now.Back)
	}
}

// verdict is that of a gate, of a new target that of a gate that no checker has looked at.
func (l *locationObject) verdict(name string, another bool) string {
	for _, g := range l.Gates {
		if g.Gate == name && !another {
			return g.Verdict
		}
	}
	return verdictPending
}

// took is how long it took to reach a target.
func (t *targetObject) took() string {
	if t.AssignedMS == nil || t.ReachedMS == nil {
		return ""
	}
	return " after " + shortTime(*t.AssignedMS-*t.ReachedMS)
}

// behindColon is a text behind a colon, if there is any.
func behindColon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
