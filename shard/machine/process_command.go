package machine

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/process"
)

const noProcess = "there is no process of this name"

// put makes a process, or alters the existing process of the name.
func (pr *processes) put(m *Core, c *shard.Command, t *Target) {
	p, err := process.Parse[processkind.Put](c.Body, "a put")
	switch {
	case err != nil:
		m.Run.Refuse(protocol.StatusBadRequest, err.Error())
	case t.Object != 0 && p.Mode == field.PutCreate:
		m.Run.Refuse(protocol.StatusAlreadyExists, "there is a process of this name")
	case t.Object != 0:
		pr.alter(m, &p, t)
	case p.Mode == field.PutAlter:
		m.Run.Refuse(protocol.StatusNotFound, noProcess)
	case p.ExpectedRevision != 0:
		m.Run.Refuse(protocol.StatusPreconditionFailed, "there is no spec in force")
	default:
		pr.create(m, c, t, &p, nil)
	}
}

// processPutMakes reports whether a put may make a process, arrivalMakes whether joining may.
func processPutMakes(c *shard.Command) bool {
	p, err := process.Parse[processkind.Put](c.Body, "a put")
	return err == nil && p.Mode != field.PutAlter
}

func arrivalMakes(c *shard.Command) bool {
	a, err := process.Parse[processkind.Arrival](c.Body, "a joining")
	return err == nil && a.Create
}

// create makes a process, with a first member if the command is a join. After a refusal no process is left.
func (pr *processes) create(m *Core, c *shard.Command, t *Target, put *processkind.Put, first *processkind.Joining) {
	if t.Node.Full() {
		m.Run.Refuse(protocol.StatusPreconditionFailed, "the node has as many objects as it may")
		return
	}
	w := pr.start(m, t.Node, t.Session)
	p, a := process.New(w.at, put.Spec, put.By)
	if a.Status != protocol.StatusSuccess {
		w.answer(a)
		return
	}
	w.body = pr.Alloc()
	w.hosted = pr.At(w.body)
	*w.hosted = hostedProcess{Process: p, whole: m.History.NewView(), results: m.History.NewView()}
	w.objects, w.fresh = 1, shard.ObjectBytes+len(c.Name)+p.Size()
	member := arena.Handle(0)
	if first != nil {
		member, a = w.admit(*first)
	} else if !w.MayGrow(0) {
		a.Status = protocol.StatusQuotaExceeded
	}
	if a.Status != protocol.StatusSuccess {
		w.answer(a)
		pr.Release(w.body)
		return
	}
	w.object = m.Objects.Add(shard.KindProcess, t, c.Node, c.Name, w.body)
	w.hosted.object, w.node = w.object, t.Node
	w.link(member, c)
	w.out.Grown = 0 // the new object's size counts the growth already
	e := m.Run.Answer(protocol.StatusSuccess)
	e.Flags, e.Revision, e.Order = shard.FlagCreated, shard.Revision(p.SpecRevision()), w.orderOf(member)
	w.finish(shard.FlagCreated)
}

func (pr *processes) alter(m *Core, put *processkind.Put, t *Target) {
	w := pr.begin(m, t.Object, t.Session)
	var a process.Answer
	if is := w.hosted.SpecRevision(); put.ExpectedRevision != 0 && put.ExpectedRevision != is {
		a.Status = protocol.StatusPreconditionFailed
		a.Text = fmt.Sprintf("the spec has revision %d, not %d", is, put.ExpectedRevision)
	} else {
		a = w.hosted.Alter(w.at, put.Spec, put.By)
	}
	if e := w.answer(a); a.Status == protocol.StatusSuccess {
		e.Revision = shard.Revision(w.hosted.SpecRevision())
	}
	w.finish(0)
}

func (pr *processes) delete(m *Core, c *shard.Command, t *Target) {
	if t.Object == 0 {
		m.Run.Refuse(protocol.StatusNotFound, noProcess)
		return
	}
	a := pr.At(m.Objects.At(t.Object).State).Deletable(c.Flags&shard.FlagForce != 0)
	if a.Status != protocol.StatusSuccess {
		m.Run.Refuse(a.Status, a.Text)
		return
	}
	pr.Remove(m, t.Object)
	m.Run.Answer(protocol.StatusSuccess)
}

// join makes the session a member. It makes the process first, if the command asks for a missing process.
func (pr *processes) join(m *Core, c *shard.Command, t *Target) {
	a, err := process.Parse[processkind.Arrival](c.Body, "a joining")
	switch {
	case err != nil:
		m.Run.Refuse(protocol.StatusBadRequest, err.Error())
	case t.Object != 0:
		pr.joinThis(m, c, t, a.Joining)
	case a.Create:
		by := processkind.By{Author: a.Name, Reason: "joined"}
		pr.create(m, c, t, &processkind.Put{Spec: a.Spec, By: by}, &a.Joining)
	default:
		m.Run.Refuse(protocol.StatusNotFound, noProcess)
	}
}

func (pr *processes) joinThis(m *Core, c *shard.Command, t *Target, j processkind.Joining) {
	w := pr.begin(m, t.Object, t.Session)
	member, a := arena.Handle(0), process.Answer{}
	if h := m.Holdings.Of(w.object, w.session); h != 0 {
		member = m.Holdings.At(h).State
		a = w.hosted.Join(w.at, &pr.members.At(member).Member, j)
	} else if member, a = w.admit(j); a.Status == protocol.StatusSuccess {
		w.link(member, c)
		w.hosted.Gathered(w.at)
	}
	if e := w.answer(a); a.Status == protocol.StatusSuccess {
		e.Order = w.orderOf(member)
	}
	w.finish(0)
}

// act applies an operator's act.
func (pr *processes) act(m *Core, c *shard.Command, t *Target) {
	act, err := process.Parse[processkind.Act](c.Body, "an act")
	switch {
	case t.Object == 0:
		m.Run.Refuse(protocol.StatusNotFound, noProcess)
	case err != nil:
		m.Run.Refuse(protocol.StatusBadRequest, err.Error())
	default:
		w := pr.begin(m, t.Object, t.Session)
		w.answer(w.hosted.Act(w.at, act))
		w.finish(0)
	}
}
