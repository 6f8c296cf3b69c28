package machine

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/rollout"
)

// openPart finds the part of the session and preserves its record. It returns false for a session without a part.
func (w *rolloutWork) openPart() bool {
	if w.link = w.m.Holdings.Of(w.object, w.session); w.link == 0 {
		return false
	}
	w.m.Snapshots.TouchHolding(w.link)
	w.part = w.parts.At(w.m.Holdings.At(w.link).State)
	w.charged = w.part.instance.Size()
	return true
}

// instance returns the session's instance. For a session without a part the instance is new and has not joined.
func (w *rolloutWork) instance() *rollout.Instance {
	if w.openPart() {
		return &w.part.instance
	}
	return &rollout.Instance{}
}

// partOrNew finds the session's part, or makes a part for withNewLink to link. It refuses if the session may have no
// more links.
func (w *rolloutWork) partOrNew() (part arena.Handle, a rollout.Answer) {
	if w.openPart() {
		return w.m.Holdings.At(w.link).State, a
	}
	if refusal, why := w.m.Holdings.Admits(w.session); refusal != protocol.StatusSuccess {
		return 0, rollout.Answer{Status: refusal, Text: why}
	}
	part = w.parts.Alloc()
	w.parts.At(part).instance.ID = uint64(w.m.Holdings.NextOrder())
	w.fresh = shard.LinkBytes + w.parts.At(part).instance.Size()
	return part, a
}

// withNewLink links a part that the command has made, or frees the part of a refused command.
func (w *rolloutWork) withNewLink(part arena.Handle, c *shard.Command, a rollout.Answer) rollout.Answer {
	if w.link != 0 {
		return a
	}
	if a.Status != protocol.StatusSuccess {
		w.parts.Release(part)
		return a
	}
	w.link = w.m.Holdings.Add(w.session, w.object, &shard.Command{Number: c.Number, Time: c.Time}, true)
	w.m.Holdings.SetState(w.link, part)
	return a
}

func (w *rolloutWork) join(c *shard.Command, j rolloutkind.Instance) rollout.Answer {
	part, a := w.partOrNew()
	if a.Status != protocol.StatusSuccess {
		return a
	}
	i := &w.parts.At(part).instance
	before := i.LocationID()
	a = w.staged.Join(w.at, i, j.Name, j.Location, string(j.Attributes))
	if a.Holder != nil {
		a.Text = fmt.Sprintf("session %d has joined as %s", w.sessionOf(a.Holder), j.Name)
	}
	if after := i.LocationID(); a.Status == protocol.StatusSuccess && after != before {
		w.unlist(part, before)
		w.list(part, after)
	}
	a.Number = i.ID
	return w.withNewLink(part, c, a)
}

// sessionOf returns the session of a joined instance.
func (w *rolloutWork) sessionOf(i *rollout.Instance) shard.SessionID {
	h := w.m.Holdings.After(w.m.Objects.At(w.object), shard.OrderID(i.ID)-1)
	return w.m.Sessions.ID(w.m.Holdings.At(h).Session)
}

// list puts an instance into the tree of a location, unlist removes the instance.
func (w *rolloutWork) list(part arena.Handle, location uint64) {
	w.byLocation.Insert(&w.staged.locationOf(location).parts, part, w.rollouts)
}

func (w *rolloutWork) unlist(part arena.Handle, location uint64) {
	if of := w.staged.locationOf(location); of != nil {
		w.byLocation.Remove(&of.parts, part)
	}
}

func (w *rolloutWork) source(c *shard.Command, s rolloutkind.SourceRole) rollout.Answer {
	if s.Off {
		return w.endSource()
	}
	part, a := w.partOrNew()
	if a.Status != protocol.StatusSuccess {
		return a
	}
	p := w.parts.At(part)
	a = w.staged.AddSource(w.at, rollout.Source{ID: p.instance.ID, Name: s.Name})
	if a.Status == protocol.StatusSuccess {
		p.source = true
	}
	a.Number = p.instance.ID
	return w.withNewLink(part, c, a)
}

func (w *rolloutWork) endSource() rollout.Answer {
	id := w.instance().ID
	a := w.staged.RemoveSource(w.at, id)
	if a.Status == protocol.StatusSuccess {
		w.part.source = false
		w.endPart()
	}
	return a
}

func (w *rolloutWork) leave(*shard.Command) rollout.Answer {
	i := w.instance()
	location := i.LocationID()
	a := w.staged.Leave(w.at, i)
	if a.Status == protocol.StatusSuccess {
		w.unlist(w.m.Holdings.At(w.link).State, location)
		*i = rollout.Instance{ID: i.ID}
		w.endPart()
	}
	return a
}

// endPart removes the link of a part that has become neither an instance nor a source.
func (w *rolloutWork) endPart() {
	if w.part.source || w.part.joined() {
		return
	}
	w.m.Nodes.Charge(w.m.Objects.Node(w.m.Objects.At(w.object)), w.part.instance.Size()-w.charged)
	w.part = nil
	w.m.Holdings.Remove(w.link)
}

func (w *rolloutWork) setRole(c *shard.Command) rollout.Answer {
	if c.Count > 1 {
		return rollout.Answer{Status: protocol.StatusBadRequest, Text: "that is no role"}
	}
	return w.staged.SetRole(w.at, w.instance(), rollout.Role(c.Count))
}

func (w *rolloutWork) report(c *shard.Command) rollout.Answer {
	r, err := rollout.ParseReport(c.Body)
	if err != nil {
		return badForm(err)
	}
	return w.staged.Report(w.at, w.instance(), r)
}

func (w *rolloutWork) ask(c *shard.Command) rollout.Answer {
	r, err := rollout.ParseReport(c.Body)
	if err != nil {
		return badForm(err)
	}
	a, t := w.staged.Ask(w.at, w.instance(), r)
	if a.Status == protocol.StatusSuccess {
		var buf [32]byte
		w.body = string(rollout.AppendTarget(buf[:0], t))
	}
	return a
}

// ReleaseHolding ends the part of an ended session.
func (ro *rollouts) ReleaseHolding(m *Core, h arena.Handle) {
	if m.Pending.RemovedWithObject(h) {
		return
	}
	object := m.Holdings.At(h).Object
	w := ro.begin(m, object, m.Holdings.At(h).Session)
	m.Snapshots.PreserveHolding(h)
	body := m.Holdings.At(h).State
	p := ro.parts.At(body)
	if p.source {
		w.staged.RemoveSource(w.at, p.instance.ID)
	}
	if p.joined() {
		w.unlist(body, p.instance.LocationID())
		w.staged.Leave(w.at, &p.instance)
	}
	m.Holdings.Remove(h)
	w.finish(0)
}

// Remove deletes a rollout, and notifies its sessions.
func (ro *rollouts) Remove(m *Core, object arena.Handle) {
	m.Pending.RemoveAll(object,
		func(m *Core, link arena.Handle) { m.Holdings.Emit(shard.EffectLost, link).Object = shard.KindRollout })
}

// Resume is for kinds with pending work on objects that are not deleted.
func (ro *rollouts) Resume(*Core, arena.Handle) {
	assert.That(false, "a rollout is never pending but for its end")
}

// Due does everything that time alone has made Due.
func (ro *rollouts) Due(m *Core, object arena.Handle) {
	w := ro.begin(m, object, 0)
	w.staged.alarm = 0
	w.staged.Due(w.at)
	w.finish(0)
}
