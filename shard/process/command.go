package process

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

const noProcess = "there is no process of this name"

// runPut creates a process, or alters the existing process with the name.
func runPut(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	pr := processesOf(co)
	p, err := Parse[processkind.Put](c.Body, "a put")
	switch {
	case err != nil:
		return machine.Refuse(protocol.StatusBadRequest, err.Error())
	case t.Object != 0 && p.Mode == field.PutCreate:
		return machine.Refuse(protocol.StatusAlreadyExists, "there is a process of this name")
	case t.Object != 0:
		return pr.alter(co, &p, t)
	case p.Mode == field.PutAlter:
		return machine.Refuse(protocol.StatusNotFound, noProcess)
	case p.ExpectedRevision != 0:
		return machine.Refuse(protocol.StatusPreconditionFailed, "there is no spec in force")
	}
	return pr.create(co, c, t, &p, nil)
}

// putMakes reports whether a put may create a process, arrivalMakes whether a join may.
func putMakes(c *shard.Command) bool {
	p, err := Parse[processkind.Put](c.Body, "a put")
	return err == nil && p.Mode != field.PutAlter
}

func arrivalMakes(c *shard.Command) bool {
	a, err := Parse[processkind.Arrival](c.Body, "a joining")
	return err == nil && a.Create
}

// create creates a process, with a first member if the command is a join. After a refusal no process is left.
func (pr *processes) create(co *machine.Core, c *shard.Command, t *machine.Target, put *processkind.Put,
	first *processkind.Joining) machine.Outcome {
	w := pr.start(co, t.Node, t.Session)
	p, a := New(w.at, put.Spec, put.By)
	if a.Status != protocol.StatusSuccess {
		return w.outcome(a)
	}
	w.body = pr.Alloc()
	w.hosted = pr.At(w.body)
	*w.hosted = hostedProcess{Process: p, whole: co.History.NewView(), results: co.History.NewView()}
	w.objects, w.fresh = 1, shard.ObjectBytes+len(c.Name)+p.Size()
	member := arena.Handle(0)
	if first != nil {
		member, a = w.admit(*first)
	} else if !w.MayGrow(0) {
		a.Status = protocol.StatusQuotaExceeded
	}
	if a.Status != protocol.StatusSuccess {
		pr.Release(w.body)
		return w.outcome(a)
	}
	w.object = co.Objects.Add(shard.KindProcess, t, c.Node, c.Name, w.body)
	w.hosted.object, w.node = w.object, t.Node
	w.link(member, c)
	w.out.Grown = 0 // the new object's size already includes the growth
	co.Run.PlaceResult()
	w.finish(shard.FlagCreated)
	return machine.Outcome{
		Flags: shard.FlagCreated, Revision: shard.Revision(p.SpecRevision()), Order: w.orderOf(member),
	}
}

func (pr *processes) alter(co *machine.Core, put *processkind.Put, t *machine.Target) machine.Outcome {
	w := pr.begin(co, t.Object, t.Session)
	var a Answer
	if is := w.hosted.SpecRevision(); put.ExpectedRevision != 0 && put.ExpectedRevision != is {
		a.Status = protocol.StatusPreconditionFailed
		a.Text = fmt.Sprintf("the spec has revision %d, not %d", is, put.ExpectedRevision)
	} else {
		a = w.hosted.Alter(w.at, put.Spec, put.By)
	}
	p := w.hosted.Process
	o := w.conclude(a)
	if o.Status == protocol.StatusSuccess {
		o.Revision = shard.Revision(p.SpecRevision())
	}
	return o
}

func runDelete(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	pr := processesOf(co)
	if t.Object == 0 {
		return machine.Refuse(protocol.StatusNotFound, noProcess)
	}
	a := pr.At(co.Objects.At(t.Object).State).Deletable(c.Flags&shard.FlagForce != 0)
	if a.Status != protocol.StatusSuccess {
		return machine.Refuse(a.Status, a.Text)
	}
	pr.Remove(co, t.Object)
	return machine.Outcome{}
}

// runJoin makes the session a member. If the command asks for a missing process, runJoin creates it first.
func runJoin(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	pr := processesOf(co)
	a, err := Parse[processkind.Arrival](c.Body, "a joining")
	switch {
	case err != nil:
		return machine.Refuse(protocol.StatusBadRequest, err.Error())
	case t.Object != 0:
		return pr.joinThis(co, c, t, a.Joining)
	case a.Create:
		by := processkind.ChangeInfo{Author: a.Name, Reason: "joined"}
		return pr.create(co, c, t, &processkind.Put{Spec: a.Spec, By: by}, &a.Joining)
	}
	return machine.Refuse(protocol.StatusNotFound, noProcess)
}

func (pr *processes) joinThis(co *machine.Core, c *shard.Command, t *machine.Target,
	j processkind.Joining) machine.Outcome {
	w := pr.begin(co, t.Object, t.Session)
	member, a := arena.Handle(0), Answer{}
	if h := co.Holdings.Of(w.object, w.session); h != 0 {
		member = co.Holdings.At(h).State
		a = w.hosted.Join(w.at, &pr.members.At(member).Member, j)
	} else if member, a = w.admit(j); a.Status == protocol.StatusSuccess {
		w.link(member, c)
		w.hosted.gathered(w.at)
	}
	order := w.orderOf(member)
	o := w.conclude(a)
	if o.Status == protocol.StatusSuccess {
		o.Order = order
	}
	return o
}

// runAct applies an operator's action.
func runAct(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	act, err := Parse[processkind.Action](c.Body, "an act")
	switch {
	case t.Object == 0:
		return machine.Refuse(protocol.StatusNotFound, noProcess)
	case err != nil:
		return machine.Refuse(protocol.StatusBadRequest, err.Error())
	}
	w := processesOf(co).begin(co, t.Object, t.Session)
	return w.conclude(w.hosted.Act(w.at, act))
}
