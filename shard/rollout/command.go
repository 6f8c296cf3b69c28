package rollout

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// runPut creates a rollout, or alters the existing rollout with the name.
func runPut(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	ro := rolloutsOf(co)
	p, err := Parse[rolloutkind.Put](c.Body, "a put")
	switch {
	case err != nil:
		return machine.Refuse(protocol.StatusBadRequest, err.Error())
	case t.Object != 0 && p.Mode == field.PutCreate:
		return machine.Refuse(protocol.StatusAlreadyExists, "there is a rollout of this name")
	case t.Object != 0:
		return ro.alter(co, &p, t)
	case p.Mode == field.PutAlter:
		return machine.Refuse(protocol.StatusNotFound, "there is no rollout of this name")
	case p.ExpectedRevision != 0:
		return machine.Refuse(protocol.StatusPreconditionFailed, "there is no spec in force")
	}
	return ro.create(co, c, &p, t)
}

// putMakes reports whether a put may create a rollout.
func putMakes(c *shard.Command) bool {
	p, err := Parse[rolloutkind.Put](c.Body, "a put")
	return err == nil && p.Mode != field.PutAlter
}

func (ro *rollouts) create(co *machine.Core, c *shard.Command, p *rolloutkind.Put, t *machine.Target) machine.Outcome {
	ro.work.out.Reset()
	r, a := New(ro.now(co), p.Spec, p.By)
	if a.Status != protocol.StatusSuccess {
		return machine.Refuse(a.Status, a.Text)
	}
	if q := co.Nodes.Exceeded(t.Node, 1, shard.ObjectBytes+len(c.Name)+r.Size()); q != shard.QuotaNone {
		return machine.OverQuota(q)
	}
	body := ro.Alloc()
	*ro.At(body) = stagedRollout{
		Rollout: r, charged: r.Size(), whole: co.History.NewView(), ticket: co.History.NewView(),
	}
	ro.At(body).followLocations(co)
	t.Object = co.Objects.Add(shard.KindRollout, t, c.Node, c.Name, body)
	ro.At(body).object = t.Object
	co.Run.PlaceResult()
	co.Objects.Changed(t.Object, shard.FlagCreated|shard.FlagData|shard.FlagOwners)
	return machine.Outcome{Flags: shard.FlagCreated, Revision: shard.Revision(r.SpecRevision())}
}

func (ro *rollouts) alter(co *machine.Core, p *rolloutkind.Put, t *machine.Target) machine.Outcome {
	w := ro.begin(co, t.Object, t.Session)
	if p.ExpectedRevision != 0 && p.ExpectedRevision != w.staged.SpecRevision() {
		return machine.Refuse(protocol.StatusPreconditionFailed, fmt.Sprintf("the spec has revision %d, not %d",
			w.staged.SpecRevision(), p.ExpectedRevision))
	}
	o := w.conclude(w.staged.Alter(w.at, p.Spec, p.By))
	if o.Status == protocol.StatusSuccess {
		o.Revision = shard.Revision(w.staged.SpecRevision())
	}
	return o
}

func runDelete(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	ro := rolloutsOf(co)
	if t.Object == 0 {
		return machine.Refuse(protocol.StatusNotFound, "there is no rollout of this name")
	}
	a := ro.At(co.Objects.At(t.Object).State).Deletable(c.Flags&shard.FlagForce != 0)
	if a.Status != protocol.StatusSuccess {
		return machine.Refuse(a.Status, a.Text)
	}
	ro.Remove(co, t.Object)
	return machine.Outcome{}
}

func badForm(err error) Answer {
	return Answer{Status: protocol.StatusBadRequest, Text: err.Error()}
}

// parsed is a command that gets its body as a value. what names the body in the error for an invalid body.
func parsed[T any, P interface {
	*T
	field.Value
}](what string, does func(*work, *shard.Command, T) Answer) func(*work,
	*shard.Command) Answer {
	return func(w *work, c *shard.Command) Answer {
		v, err := Parse[T, P](c.Body, what)
		if err != nil {
			return badForm(err)
		}
		return does(w, c, v)
	}
}

func (w *work) publish(c *shard.Command, p rolloutkind.Publication) Answer {
	p.Payload = c.Data
	a := w.staged.Publish(w.at, p)
	a.Number = a.Seq
	return a
}

func (w *work) act(_ *shard.Command, act rolloutkind.Action) Answer {
	a := w.staged.Act(w.at, act)
	a.Number = a.Generation
	return a
}

func (w *work) judge(_ *shard.Command, g rolloutkind.GateReport) Answer {
	return w.staged.Judge(w.at, g)
}

func (w *work) offer(c *shard.Command, o rolloutkind.Offering) Answer {
	source := uint64(0)
	if h := w.co.Holdings.Of(w.object, w.session); h != 0 {
		source = uint64(w.co.Holdings.At(h).Order)
	}
	if o.Declined {
		return w.staged.decline(w.at, source, o.Ticket, o.Text)
	}
	a := w.staged.Offer(w.at, source, o.Ticket, rolloutkind.Publication{
		Payload: c.Data, Label: o.Label, By: rolloutkind.ChangeInfo{Author: o.Author},
	})
	a.Number = a.Seq
	return a
}
