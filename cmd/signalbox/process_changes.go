package main

import (
	"slices"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/gateway/operation"
)

// sameAs reports whether nothing but ages is other.
func (v *processView) sameAs(other *processView) bool {
	return v.Revision == other.Revision && v.Exists == other.Exists && v.Phase == other.Phase &&
		slices.EqualFunc(v.Reasons, other.Reasons, sameStop)
}

// sameStop reports whether a reason is the same but for its ages.
func sameStop(r, other process.StopReason) bool {
	return r.Code == other.Code && r.Epoch == other.Epoch && r.Exchange == other.Exchange && r.Late == other.Late &&
		r.Waiting == other.Waiting
}

// changes says what is other in a process than before, a line for each thing; before is nil at first.
func (v *processView) changes(before *processView) []string {
	c := changes{}
	if !v.Exists {
		if before != nil && before.Exists {
			c.say(v.name, "is deleted")
		} else {
			c.say(v.name, "does not exist")
		}
		return c.lines
	}
	if before == nil || !before.Exists {
		before = &processView{State: &process.State{}}
	}
	if a := &v.LastAct; a.At.Happened && !sameAct(a, &before.LastAct) {
		c.say(v.name, "%s", processActLine(a))
	}
	c.membership(before, v)
	c.round(before, v)
	for _, r := range v.Reasons {
		known := func(other process.StopReason) bool {
			return other.Code == r.Code && other.Epoch == r.Epoch && other.Exchange == r.Exchange &&
				alarming(&other)
		}
		if alarming(&r) && !slices.ContainsFunc(before.Reasons, known) {
			c.say(v.name, "%s", v.stop(&r))
		}
	}
	return c.lines
}

// alarming reports whether a reason is one that time alone does not do away with.
func alarming(r *process.StopReason) bool { return r.Late || r.Blocked }

// sameAct reports whether it is the same act.
func sameAct(a, other *process.PastAct) bool {
	return a.At.Time == other.At.Time && a.Verb == other.Verb && a.By.Author == other.By.Author
}

// membership says who has joined and left.
func (c *changes) membership(before, now *processView) {
	for i := range before.Members {
		if m := &before.Members[i]; now.member(m.ID) == nil {
			c.say(m.Name, "leaves, as member %d", m.ID)
		}
	}
	for i := range now.Members {
		m := &now.Members[i]
		switch {
		case before.member(m.ID) != nil:
		case now.role(m) == roleObserver:
			c.say(m.Name, "joins as member %d, an observer", m.ID)
		default:
			c.say(m.Name, "joins as member %d", m.ID)
		}
	}
}

// round says how the last epochs have gone on. At first what came of epochs before the last is left out.
func (c *changes) round(before, now *processView) {
	another := now.Epoch != before.Epoch
	complete := func(from, below uint64) {
		for _, r := range now.Results {
			if r.Epoch >= from && r.Epoch < below && before.result(r.Epoch) == nil {
				c.say(now.name, "epoch %d is complete, with a result of %s", r.Epoch, operation.Plural(r.Size, "byte"))
			}
		}
	}
	if before.Exists {
		complete(before.Epoch, now.Epoch)
	}
	if another && now.Of > 0 {
		c.say(now.name, "epoch %d opens with %s, coordinated by %s", now.Epoch, operation.Plural(now.Of, "member"),
			now.memberText(now.Coordinator))
	}
	complete(now.Epoch, now.Epoch+1)
	if now.Phase == process.Running && (another || before.Phase != process.Running) {
		c.say(now.name, "epoch %d runs: all are prepared", now.Epoch)
	}
}

// result returns the result of an epoch, nil where there is none.
func (v *processView) result(epoch uint64) *process.Result {
	for i := range v.Results {
		if v.Results[i].Epoch == epoch {
			return &v.Results[i]
		}
	}
	return nil
}
