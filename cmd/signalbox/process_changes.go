package main

import "slices"

// sameAs reports whether nothing but ages is other.
func (o *processObject) sameAs(other *processObject) bool {
	return o.Revision == other.Revision && o.Exists == other.Exists && o.Phase == other.Phase &&
		slices.EqualFunc(o.Reasons, other.Reasons, processReasonObject.sameAs)
}

// sameAs reports whether a reason is the same but for its ages.
func (r processReasonObject) sameAs(other processReasonObject) bool {
	return r.Code == other.Code && r.Epoch == other.Epoch && r.Exchange == other.Exchange && r.Late == other.Late &&
		r.Waiting == other.Waiting
}

// changes says what is other in a process than before, a line for each thing; before is nil at first.
func (o *processObject) changes(before *processObject) []string {
	c := changes{}
	if !o.Exists {
		if before != nil && before.Exists {
			c.say(o.Name, "is deleted")
		} else {
			c.say(o.Name, "does not exist")
		}
		return c.lines
	}
	if before == nil || !before.Exists {
		before = &processObject{}
	}
	if a := o.LastAct; a != nil && !a.sameAs(before.LastAct) {
		c.say(o.Name, "%s", a.line())
	}
	c.membership(before, o)
	c.round(before, o)
	for _, r := range o.Reasons {
		known := func(other processReasonObject) bool {
			return other.Code == r.Code && other.Epoch == r.Epoch && other.Exchange == r.Exchange &&
				other.alarming()
		}
		if r.alarming() && !slices.ContainsFunc(before.Reasons, known) {
			c.say(o.Name, "%s", r.line())
		}
	}
	return c.lines
}

// alarming reports whether a reason is one that time alone does not do away with.
func (r *processReasonObject) alarming() bool { return r.Late || r.Blocked }

// sameAs reports whether it is the same act.
func (a *processActObject) sameAs(other *processActObject) bool {
	return other != nil && a.moment == other.moment && a.Act == other.Act && a.Author == other.Author
}

// membership says who has joined and left.
func (c *changes) membership(before, now *processObject) {
	for i := range before.Members {
		if m := &before.Members[i]; now.member(m.ID) == nil {
			c.say(m.Member, "leaves, as member %d", m.ID)
		}
	}
	for i := range now.Members {
		m := &now.Members[i]
		switch {
		case before.member(m.ID) != nil:
		case m.Role == roleObserver:
			c.say(m.Member, "joins as member %d, an observer", m.ID)
		default:
			c.say(m.Member, "joins as member %d", m.ID)
		}
	}
}

// round says how the last epochs have gone on. At first what came of epochs before the last is left out.
func (c *changes) round(before, now *processObject) {
	another := now.Epoch != before.Epoch
	complete := func(from, below uint64) {
		for _, r := range now.Results {
			if r.Epoch >= from && r.Epoch < below && before.result(r.Epoch) == nil {
				c.say(now.Name, "epoch %d is complete, with a result of %s", r.Epoch, plural(r.Bytes, "byte"))
			}
		}
	}
	if before.Exists {
		complete(before.Epoch, now.Epoch)
	}
	if another && now.Of > 0 {
		c.say(now.Name, "epoch %d opens with %s, coordinated by %s", now.Epoch, plural(now.Of, "member"),
			now.memberText(now.Coordinator))
	}
	complete(now.Epoch, now.Epoch+1)
	if now.Phase == phaseRunning && (another || before.Phase != phaseRunning) {
		c.say(now.Name, "epoch %d runs: all are prepared", now.Epoch)
	}
}

// result returns the result of an epoch, nil where there is none.
func (o *processObject) result(epoch uint64) *processResultObject {
	for i := range o.Results {
		if o.Results[i].Epoch == epoch {
			return &o.Results[i]
		}
	}
	return nil
}
