package machine

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rollout"
)

// put makes a rollout, or alters the existing rollout of the name.
func (ro *rollouts) put(m *Core, c *shard.Command, t *Target) {
	p, err := rollout.Parse[rolloutkind.Put](c.Body, "a put")
	switch {
	case err != nil:
		m.Run.Refuse(protocol.StatusBadRequest, err.Error())
	case t.Object != 0 && p.Mode == field.PutCreate:
		m.Run.Refuse(protocol.StatusAlreadyExists, "there is a rollout of this name")
	case t.Object != 0:
		ro.alter(m, &p, t)
	case p.Mode == field.PutAlter:
		m.Run.Refuse(protocol.StatusNotFound, "there is no rollout of this name")
	case p.ExpectedRevision != 0:
		m.Run.Refuse(protocol.StatusPreconditionFailed, "there is no spec in force")
	default:
		ro.create(m, c, &p, t)
	}
}

// putMakes reports whether a put may make a rollout.
func putMakes(c *shard.Command) bool {
	p, err := rollout.Parse[rolloutkind.Put](c.Body, "a put")
	return err == nil && p.Mode != field.PutAlter
}

func (ro *rollouts) create(m *Core, c *shard.Command, p *rolloutkind.Put, t *Target) {
	if t.Node.Full() {
		m.Run.Refuse(protocol.StatusPreconditionFailed, "the node has as many objects as it may")
		return
	}
	ro.work.out.Reset()
	r, a := rollout.New(ro.now(m), p.Spec, p.By)
	if a.Status != protocol.StatusSuccess {
		m.Run.Refuse(a.Status, a.Text)
		return
	}
	if !m.Nodes.MayGrow(t.Node, 1, shard.ObjectBytes+len(c.Name)+r.Size()) {
		return
	}
	body := ro.Alloc()
	*ro.At(body) = stagedRollout{Rollout: r, charged: r.Size(), whole: m.History.NewView(), ticket: m.History.NewView()}
	ro.At(body).followLocations(m)
	t.Object = m.Objects.Add(shard.KindRollout, t, c.Node, c.Name, body)
	ro.At(body).object = t.Object
	e := m.Run.Answer(protocol.StatusSuccess)
	e.Flags, e.Revision = shard.FlagCreated, shard.Revision(r.SpecRevision())
	m.Objects.Changed(t.Object, shard.FlagCreated|shard.FlagData|shard.FlagOwners)
}

func (ro *rollouts) alter(m *Core, p *rolloutkind.Put, t *Target) {
	w := ro.begin(m, t.Object, t.Session)
	if p.ExpectedRevision != 0 && p.ExpectedRevision != w.staged.SpecRevision() {
		m.Run.Refuse(protocol.StatusPreconditionFailed, fmt.Sprintf("the spec has revision %d, not %d",
			w.staged.SpecRevision(), p.ExpectedRevision))
		return
	}
	a := w.staged.Alter(w.at, p.Spec, p.By)
	if e := w.answer(a); a.Status == protocol.StatusSuccess {
		e.Revision = shard.Revision(w.staged.SpecRevision())
	}
	w.finish(0)
}

func (ro *rollouts) delete(m *Core, c *shard.Command, t *Target) {
	if t.Object == 0 {
		m.Run.Refuse(protocol.StatusNotFound, "there is no rollout of this name")
		return
	}
	a := ro.At(m.Objects.At(t.Object).State).Deletable(c.Flags&shard.FlagForce != 0)
	if a.Status != protocol.StatusSuccess {
		m.Run.Refuse(a.Status, a.Text)
		return
	}
	ro.Remove(m, t.Object)
	m.Run.Answer(protocol.StatusSuccess)
}

func badForm(err error) rollout.Answer {
	return rollout.Answer{Status: protocol.StatusBadRequest, Text: err.Error()}
}

// parsed is a command that gets its body as a value. what names the body in the refusal of other bytes.
func parsed[T any, P interface {
	*T
	field.Value
}](what string, does func(*rolloutWork, *shard.Command, T) rollout.Answer) func(*rolloutWork,
	*shard.Command) rollout.Answer {
	return func(w *rolloutWork, c *shard.Command) rollout.Answer {
		v, err := rollout.Parse[T, P](c.Body, what)
		if err != nil {
			return badForm(err)
		}
		return does(w, c, v)
	}
}

func (w *rolloutWork) publish(c *shard.Command, p rolloutkind.Publication) rollout.Answer {
	p.Payload = c.Data
	a := w.staged.Publish(w.at, p)
	a.Number = a.Seq
	return a
}

func (w *rolloutWork) act(_ *shard.Command, act rolloutkind.Act) rollout.Answer {
	a := w.staged.Act(w.at, act)
	a.Number = a.Generation
	return a
}

func (w *rolloutWork) judge(_ *shard.Command, g rolloutkind.Judgement) rollout.Answer {
	return w.staged.Judge(w.at, g)
}

func (w *rolloutWork) offer(c *shard.Command, o rolloutkind.Offering) rollout.Answer {
	source := uint64(0)
	if h := w.m.Holdings.Of(w.object, w.session); h != 0 {
		source = uint64(w.m.Holdings.At(h).Order)
	}
	if o.Declined {
		return w.staged.Decline(w.at, source, o.Ticket, o.Text)
	}
	a := w.staged.Offer(w.at, source, o.Ticket, rolloutkind.Publication{
		Payload: c.Data, Label: o.Label, By: rolloutkind.By{Author: o.Author},
	})
	a.Number = a.Seq
	return a
}
