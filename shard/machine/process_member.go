package machine

import (
	"github.com/signalbox/signalbox/protocol"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/process"
)

// runMember applies a command of a member, and the acknowledgement in the command.
func (pr *processes) runMember(m *Core, c *shard.Command, t *Target,
	does func(*processWork, *shard.Command, *process.Member) process.Answer) {
	if t.Object == 0 {
		m.Run.Refuse(protocol.StatusNotFound, noProcess)
		return
	}
	w := pr.begin(m, t.Object, t.Session)
	var a process.Answer
	if member := w.member(c.Order); member == nil {
		a = w.hosted.Gone(uint64(c.Order))
	} else {
		a = does(w, c, member)
		if c.Count != 0 && w.gone == 0 {
			w.hosted.Ack(w.at, member, c.Count)
		}
	}
	if e := w.answer(a); a.Exchange != 0 {
		e.Order = shard.OrderID(a.Exchange)
	}
	w.finish(0)
}

// member returns the session's member, or nil if the member has a different id.
func (w *processWork) member(id shard.OrderID) *process.Member {
	h := w.m.Holdings.Of(w.object, w.session)
	if h == 0 || w.m.Holdings.At(h).Order != id {
		return nil
	}
	return &w.members.At(w.m.Holdings.At(h).State).Member
}

// admit lets the session join; the caller makes the link with link. It refuses if the session may have no more links.
func (w *processWork) admit(j processkind.Joining) (member arena.Handle, a process.Answer) {
	if refusal, why := w.m.Holdings.Admits(w.session); refusal != protocol.StatusSuccess {
		return 0, process.Answer{Status: refusal, Text: why}
	}
	member = w.members.Alloc()
	pm := w.members.At(member)
	pm.ID, pm.of = uint64(w.m.Holdings.NextOrder()), w.body
	w.fresh += shard.LinkBytes
	if a = w.hosted.Join(w.at, &pm.Member, j); a.Status != protocol.StatusSuccess {
		w.members.Release(member)
		return 0, a
	}
	return member, a
}

// link makes the link of a new member.
func (w *processWork) link(member arena.Handle, c *shard.Command) {
	if member == 0 {
		return
	}
	h := w.m.Holdings.Add(w.session, w.object, &shard.Command{Number: c.Number, Time: c.Time}, true)
	w.m.Holdings.SetState(h, member)
	w.members.At(member).Ref = uint64(h)
}

// orderOf returns the id of a member, 0 without a member.
func (w *processWork) orderOf(member arena.Handle) shard.OrderID {
	if member == 0 {
		return 0
	}
	return shard.OrderID(w.members.At(member).ID)
}

func (w *processWork) leave(_ *shard.Command, m *process.Member) process.Answer {
	a := w.hosted.Leave(w.at, m)
	w.gone = arena.Handle(m.Ref)
	return a
}

func (w *processWork) prepared(c *shard.Command, m *process.Member) process.Answer {
	return w.hosted.Prepared(w.at, m, c.Term)
}

func (w *processWork) send(c *shard.Command, m *process.Member) process.Answer {
	r, err := process.ParseReceivers(c.Body)
	if err != nil {
		return process.Answer{Status: protocol.StatusBadRequest, Text: err.Error()}
	}
	r.Epoch, r.Timeout, r.Payload = c.Term, c.Timeout, c.Data
	return w.hosted.Send(w.at, m, r)
}

func (w *processWork) reply(c *shard.Command, m *process.Member) process.Answer {
	return w.hosted.Reply(w.at, m, process.Answering{
		Epoch: c.Term, Exchange: c.Timeout, Failed: c.Flags&shard.FlagFailed != 0, Data: c.Data,
	})
}

func (w *processWork) complete(c *shard.Command, m *process.Member) process.Answer {
	return w.hosted.Complete(w.at, m, c.Term, c.Data)
}

func (w *processWork) completed(c *shard.Command, m *process.Member) process.Answer {
	return w.hosted.Completed(w.at, m, c.Term)
}

func (w *processWork) fail(c *shard.Command, m *process.Member) process.Answer {
	return w.hosted.Fail(w.at, m, c.Term, string(c.Data))
}

func (w *processWork) acknowledge(c *shard.Command, m *process.Member) process.Answer {
	return w.hosted.Ack(w.at, m, c.Count)
}

// ReleaseHolding ends the membership of an ended session.
func (pr *processes) ReleaseHolding(m *Core, h arena.Handle) {
	if m.Pending.RemovedWithObject(h) {
		return
	}
	object := m.Holdings.At(h).Object
	w := pr.begin(m, object, m.Holdings.At(h).Session)
	w.leave(nil, &pr.members.At(m.Holdings.At(h).State).Member)
	w.finish(0)
}

// Remove deletes a process, and notifies its sessions.
func (pr *processes) Remove(m *Core, object arena.Handle) {
	m.Pending.RemoveAll(object, func(m *Core, link arena.Handle) {
		e := m.Holdings.Emit(shard.EffectLost, link)
		e.Object, e.Body = shard.KindProcess, "the process was deleted"
	})
}

// Resume is for kinds with pending work on objects that are not deleted.
func (pr *processes) Resume(*Core, arena.Handle) {
	assert.That(false, "a process is never pending but for its end")
}
