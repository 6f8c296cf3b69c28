package rollout

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/machine"
)

// openPart finds the session's part and preserves its record. It returns false if the session has no part.
func (w *work) openPart() bool {
	if w.link = w.co.Holdings.Of(w.object, w.session); w.link == 0 {
		return false
	}
	w.co.Snapshots.TouchHolding(w.link)
	w.part = w.parts.At(w.co.Holdings.At(w.link).State)
	w.charged = w.part.instance.Size()
	return true
}

// instance returns the session's instance. If the session has no part, the instance is new and has not joined.
func (w *work) instance() *Instance {
	if w.openPart() {
		return &w.part.instance
	}
	return &Instance{}
}

// partOrNew finds the session's part, or creates a part for withNewLink to link. It refuses if the session may have no
// more holdings.
func (w *work) partOrNew() (part arena.Handle, a Answer) {
	if w.openPart() {
		return w.co.Holdings.At(w.link).State, a
	}
	if refusal, why := w.co.Holdings.Admits(w.session); refusal != protocol.StatusSuccess {
		return 0, Answer{Status: refusal, Text: why}
	}
	part = w.parts.Alloc()
	w.parts.At(part).instance.ID = uint64(w.co.Holdings.NextOrder())
	w.fresh = shard.LinkBytes + w.parts.At(part).instance.Size()
	return part, a
}

// withNewLink creates the holding for a part made by the command, or frees the part if the command was refused.
func (w *work) withNewLink(part arena.Handle, c *shard.Command, a Answer) Answer {
	if w.link != 0 {
		return a
	}
	if a.Status != protocol.StatusSuccess {
		w.parts.Release(part)
		return a
	}
	w.link = w.co.Holdings.Add(w.session, w.object, &shard.Command{Number: c.Number, Time: c.Time}, true)
	w.co.Holdings.SetState(w.link, part)
	return a
}

func (w *work) join(c *shard.Command, j rolloutkind.Instance) Answer {
	part, a := w.partOrNew()
	if a.Status != protocol.StatusSuccess {
		return a
	}
	i := &w.parts.At(part).instance
	before := i.locationID()
	a = w.staged.Join(w.at, i, j.Name, j.Location, string(j.Attributes))
	if a.Holder != nil {
		a.Text = fmt.Sprintf("session %d has joined as %s", w.sessionOf(a.Holder), j.Name)
	}
	if after := i.locationID(); a.Status == protocol.StatusSuccess && after != before {
		w.unlist(part, before)
		w.list(part, after)
	}
	a.Number = i.ID
	return w.withNewLink(part, c, a)
}

// sessionOf returns a joined instance's session.
func (w *work) sessionOf(i *Instance) shard.SessionID {
	h := w.co.Holdings.After(w.co.Objects.At(w.object), shard.OrderID(i.ID)-1)
	return w.co.Sessions.ID(w.co.Holdings.At(h).Session)
}

// list adds an instance to a location's tree, unlist removes the instance.
func (w *work) list(part arena.Handle, location uint64) {
	w.byLocation.Insert(&w.staged.locationOf(location).parts, part, w.rollouts)
}

func (w *work) unlist(part arena.Handle, location uint64) {
	if of := w.staged.locationOf(location); of != nil {
		w.byLocation.Remove(&of.parts, part)
	}
}

func (w *work) source(c *shard.Command, s rolloutkind.SourceRole) Answer {
	if s.Off {
		return w.endSource()
	}
	part, a := w.partOrNew()
	if a.Status != protocol.StatusSuccess {
		return a
	}
	p := w.parts.At(part)
	a = w.staged.addSource(w.at, Source{ID: p.instance.ID, Name: s.Name})
	if a.Status == protocol.StatusSuccess {
		p.source = true
	}
	a.Number = p.instance.ID
	return w.withNewLink(part, c, a)
}

func (w *work) endSource() Answer {
	id := w.instance().ID
	a := w.staged.removeSource(w.at, id)
	if a.Status == protocol.StatusSuccess {
		w.part.source = false
		w.endPart()
	}
	return a
}

func (w *work) leave(*shard.Command) Answer {
	i := w.instance()
	location := i.locationID()
	a := w.staged.Leave(w.at, i)
	if a.Status == protocol.StatusSuccess {
		w.unlist(w.co.Holdings.At(w.link).State, location)
		*i = Instance{ID: i.ID}
		w.endPart()
	}
	return a
}

// endPart removes the holding if the part has become neither an instance nor a source.
func (w *work) endPart() {
	if w.part.source || w.part.joined() {
		return
	}
	w.co.Nodes.Charge(w.co.Objects.Node(w.co.Objects.At(w.object)), w.part.instance.Size()-w.charged)
	w.part = nil
	w.co.Holdings.Remove(w.link)
}

func (w *work) setRole(c *shard.Command) Answer {
	if c.Count > 1 {
		return Answer{Status: protocol.StatusBadRequest, Text: "the role is unknown"}
	}
	return w.staged.SetRole(w.at, w.instance(), Role(c.Count))
}

func (w *work) report(c *shard.Command) Answer {
	r, err := ParseReport(c.Body)
	if err != nil {
		return badForm(err)
	}
	return w.staged.Report(w.at, w.instance(), r)
}

func (w *work) ask(c *shard.Command) Answer {
	r, err := ParseReport(c.Body)
	if err != nil {
		return badForm(err)
	}
	a, t := w.staged.Ask(w.at, w.instance(), r)
	if a.Status == protocol.StatusSuccess {
		var buf [32]byte
		w.body = string(appendTarget(buf[:0], t))
	}
	return a
}

// ReleaseHolding ends the part when its session has ended.
func (ro *rollouts) ReleaseHolding(co *machine.Core, h arena.Handle) {
	if co.Pending.RemovedWithObject(h) {
		return
	}
	object := co.Holdings.At(h).Object
	w := ro.begin(co, object, co.Holdings.At(h).Session)
	co.Snapshots.PreserveHolding(h)
	body := co.Holdings.At(h).State
	p := ro.parts.At(body)
	if p.source {
		w.staged.removeSource(w.at, p.instance.ID)
	}
	if p.joined() {
		w.unlist(body, p.instance.locationID())
		w.staged.Leave(w.at, &p.instance)
	}
	co.Holdings.Remove(h)
	w.finish(0)
}

// Remove deletes a rollout, and notifies its sessions.
func (ro *rollouts) Remove(co *machine.Core, object arena.Handle) {
	co.Pending.RemoveAll(object,
		func(co *machine.Core, link arena.Handle) {
			co.Holdings.Emit(shard.EffectLost, link).Object = shard.KindRollout
		})
}

// Resume is for kinds with pending work on objects that are not deleted.
func (ro *rollouts) Resume(*machine.Core, arena.Handle) {
	assert.That(false, "a rollout is never pending but for its end")
}

// Due handles an alarm.
func (ro *rollouts) Due(co *machine.Core, object, _ arena.Handle) {
	w := ro.begin(co, object, 0)
	w.staged.alarm = 0
	w.staged.Due(w.at)
	w.finish(0)
}
