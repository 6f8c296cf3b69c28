package process

import (
	"github.com/signalbox/signalbox/protocol"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/machine"
)

// runMember applies a member's command, and the acknowledgement in the command.
func (pr *processes) runMember(co *machine.Core, c *shard.Command, t *machine.Target,
	does func(*work, *shard.Command, *Member) Answer) machine.Outcome {
	if t.Object == 0 {
		return machine.Refuse(protocol.StatusNotFound, noProcess)
	}
	w := pr.begin(co, t.Object, t.Session)
	var a Answer
	if member := w.member(c.Order); member == nil {
		a = w.hosted.Gone(uint64(c.Order))
	} else {
		a = does(w, c, member)
		if c.Count != 0 && w.gone == 0 {
			w.hosted.Ack(w.at, member, c.Count)
		}
	}
	o := w.conclude(a)
	o.Order = shard.OrderID(a.Exchange)
	return o
}

// member returns the session's member, or nil if the member has a different id.
func (w *work) member(id shard.OrderID) *Member {
	h := w.co.Holdings.Of(w.object, w.session)
	if h == 0 || w.co.Holdings.At(h).Order != id {
		return nil
	}
	return &w.members.At(w.co.Holdings.At(h).State).Member
}

// admit lets the session join; the caller creates the holding with link. It refuses if the session may have no more
// holdings.
func (w *work) admit(j processkind.Joining) (member arena.Handle, a Answer) {
	if refusal, why := w.co.Holdings.Admits(w.session); refusal != protocol.StatusSuccess {
		return 0, Answer{Status: refusal, Text: why}
	}
	member = w.members.Alloc()
	pm := w.members.At(member)
	pm.ID, pm.of = uint64(w.co.Holdings.NextOrder()), w.body
	w.fresh += shard.LinkBytes
	if a = w.hosted.Join(w.at, &pm.Member, j); a.Status != protocol.StatusSuccess {
		w.members.Release(member)
		return 0, a
	}
	return member, a
}

// link creates a new member's holding.
func (w *work) link(member arena.Handle, c *shard.Command) {
	if member == 0 {
		return
	}
	h := w.co.Holdings.Add(w.session, w.object, &shard.Command{Number: c.Number, Time: c.Time}, true)
	w.co.Holdings.SetState(h, member)
	w.members.At(member).Ref = uint64(h)
}

// orderOf returns a member's id, 0 without a member.
func (w *work) orderOf(member arena.Handle) shard.OrderID {
	if member == 0 {
		return 0
	}
	return shard.OrderID(w.members.At(member).ID)
}

func (w *work) leave(_ *shard.Command, m *Member) Answer {
	a := w.hosted.Leave(w.at, m)
	w.gone = arena.Handle(m.Ref)
	return a
}

func (w *work) prepared(c *shard.Command, m *Member) Answer {
	return w.hosted.Prepared(w.at, m, c.Term)
}

func (w *work) send(c *shard.Command, m *Member) Answer {
	r, err := parseReceivers(c.Body)
	if err != nil {
		return Answer{Status: protocol.StatusBadRequest, Text: err.Error()}
	}
	r.Epoch, r.Timeout, r.Payload = c.Term, c.Timeout, c.Data
	return w.hosted.Send(w.at, m, r)
}

func (w *work) reply(c *shard.Command, m *Member) Answer {
	return w.hosted.Reply(w.at, m, answering{
		Epoch: c.Term, Exchange: c.Timeout, Failed: c.Flags&shard.FlagFailed != 0, Data: c.Data,
	})
}

func (w *work) complete(c *shard.Command, m *Member) Answer {
	return w.hosted.Complete(w.at, m, c.Term, c.Data)
}

func (w *work) completed(c *shard.Command, m *Member) Answer {
	return w.hosted.Completed(w.at, m, c.Term)
}

func (w *work) fail(c *shard.Command, m *Member) Answer {
	return w.hosted.Fail(w.at, m, c.Term, string(c.Data))
}

func (w *work) acknowledge(c *shard.Command, m *Member) Answer {
	return w.hosted.Ack(w.at, m, c.Count)
}

// ReleaseHolding ends the membership when its session has ended.
func (pr *processes) ReleaseHolding(co *machine.Core, h arena.Handle) {
	if co.Pending.RemovedWithObject(h) {
		return
	}
	object := co.Holdings.At(h).Object
	w := pr.begin(co, object, co.Holdings.At(h).Session)
	w.leave(nil, &pr.members.At(co.Holdings.At(h).State).Member)
	w.finish(0)
}

// Remove deletes a process, and notifies its sessions.
func (pr *processes) Remove(co *machine.Core, object arena.Handle) {
	co.Pending.RemoveAll(object, func(co *machine.Core, link arena.Handle) {
		e := co.Holdings.Emit(shard.EffectLost, link)
		e.Object, e.Body = shard.KindProcess, "the process was deleted"
	})
}

// Resume is for kinds with pending work on objects that are not deleted.
func (pr *processes) Resume(*machine.Core, arena.Handle) {
	assert.That(false, "a process is never pending but for its end")
}
