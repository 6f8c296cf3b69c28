package process

import (
	"slices"

	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/liveview"
	"github.com/signalbox/signalbox/gateway/operation"
)

// SameAs reports whether only ages differ.
func (v *view) SameAs(other *view) bool {
	return v.Revision == other.Revision && v.Exists == other.Exists && v.Phase == other.Phase &&
		slices.EqualFunc(v.Reasons, other.Reasons, sameStop)
}

// sameStop reports whether two reasons differ only in ages.
func sameStop(r, other process.BlockReason) bool {
	return r.Code == other.Code && r.Epoch == other.Epoch && r.Exchange == other.Exchange && r.Late == other.Late &&
		r.Waiting == other.Waiting
}

// Changes describes what has changed in a process since before, one line per change; before is nil at first.
func (v *view) Changes(before *view) []string {
	c := changes{}
	if !v.Exists {
		if before != nil && before.Exists {
			c.Say(v.name, "is deleted")
		} else {
			c.Say(v.name, "does not exist")
		}
		return c.Text
	}
	if before == nil || !before.Exists {
		before = &view{State: &process.State{}}
	}
	if a := &v.LastAct; a.At.Happened && !sameAct(a, &before.LastAct) {
		c.Say(v.name, "%s", actLine(a))
	}
	c.membership(before, v)
	c.round(before, v)
	for _, r := range v.Reasons {
		known := func(other process.BlockReason) bool {
			return other.Code == r.Code && other.Epoch == r.Epoch && other.Exchange == r.Exchange &&
				alarming(&other)
		}
		if alarming(&r) && !slices.ContainsFunc(before.Reasons, known) {
			c.Say(v.name, "%s", stopText(v.Ages, &r))
		}
	}
	return c.Text
}

// alarming reports whether time alone does not resolve a reason.
func alarming(r *process.BlockReason) bool { return r.Late || r.Blocked }

// sameAct reports whether two records describe the same action.
func sameAct(a, other *process.ActionRecord) bool {
	return a.At.Time == other.At.Time && a.Kind == other.Kind && a.By.Author == other.By.Author
}

// membership describes who has joined and left.
func (c *changes) membership(before, now *view) {
	for i := range before.Members {
		if m := &before.Members[i]; now.member(m.ID) == nil {
			c.Say(m.Name, "leaves, as member %d", m.ID)
		}
	}
	for i := range now.Members {
		m := &now.Members[i]
		switch {
		case before.member(m.ID) != nil:
		case now.role(m) == roleObserver:
			c.Say(m.Name, "joins as member %d, an observer", m.ID)
		default:
			c.Say(m.Name, "joins as member %d", m.ID)
		}
	}
}

// round describes the progress of the last epochs. At first, results before the last epoch are omitted.
func (c *changes) round(before, now *view) {
	another := now.Epoch != before.Epoch
	complete := func(from, below uint64) {
		for _, r := range now.Results {
			if r.Epoch >= from && r.Epoch < below && before.result(r.Epoch) == nil {
				c.Say(now.name, "epoch %d is complete, with a result of %s", r.Epoch, operation.Plural(r.Size, "byte"))
			}
		}
	}
	if before.Exists {
		complete(before.Epoch, now.Epoch)
	}
	if another && now.Of > 0 {
		c.Say(now.name, "epoch %d opens with %s, coordinated by %s", now.Epoch, operation.Plural(now.Of, "member"),
			now.memberText(now.Coordinator))
	}
	complete(now.Epoch, now.Epoch+1)
	if now.Phase == process.Running && (another || before.Phase != process.Running) {
		c.Say(now.name, "epoch %d runs: all members are prepared", now.Epoch)
	}
}

// result returns an epoch's result, nil if missing.
func (v *view) result(epoch uint64) *process.Result {
	return cli.Find(v.Results, func(r *process.Result) bool { return r.Epoch == epoch })
}

// changes collects lines.
type changes struct{ liveview.Lines }
