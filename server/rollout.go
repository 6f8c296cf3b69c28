package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/rollout"
)

func (c *conn) rolloutDescribe(r *protocol.Request) {
	c.describePart(r, shard.KindRollout, &r.RolloutDescribe.PartRequest, func(
		on *machine.Machine, of shard.Ref, o shard.PartOptions,
	) (shard.Found, protocol.AnswerMessage) {
		var page machine.RolloutDescription
		found := on.DescribeRollout(of.Node, of.Name, o, &page)
		c.host.noteDetached(page.Reasons)
		return found, rolloutPage(&page, o)
	})
}

// noteDetached marks the named instances and sources with detached sessions, as far as this host leads the homes of
// the sessions: no other host knows.
func (h *Host) noteDetached(reasons []rollout.Reason) {
	now := time.Now()
	for k := range reasons {
		for j := range reasons[k].Named {
			la := &reasons[k].Named[j]
			id := shard.SessionID(la.Session)
			var since time.Duration
			since, la.Detached = h.set.Of(id.Slot()).Leases.Detached(id, now)
			la.DetachedFor = uint64(since.Milliseconds())
		}
	}
}

// rolloutPage returns a page in the form for clients. Reasons and rows share the bytes of the page, so that the page
// fits in a frame however long the reasons are.
func rolloutPage(page *machine.RolloutDescription, o shard.PartOptions) *protocol.RolloutDescribeAnswer {
	a := &protocol.RolloutDescribeAnswer{
		Revision: uint64(page.Revision), NowMillis: page.Now, Phase: page.Phase,
		Head: headOf(&page.PartPage, o),
	}
	for i := range page.Reasons {
		a.Reasons.Append(page.Reasons[i].View())
	}
	a.Next = appendRows(&a.Rows, &page.PartPage, a.Reasons.Size())
	return a
}

func (c *conn) rolloutList(r *protocol.Request) {
	name := func(v *kind.Summary) string { return v.Name }
	list(c, r, shard.KindRollout, &r.RolloutList.ListRequest, (*machine.Machine).ListRollouts, name,
		func(*replica.Replica) listPage[kind.Summary] {
			a := &protocol.RolloutListAnswer{}
			return listPage[kind.Summary]{a, &a.Next, a.Rollouts.Append, a.Rollouts.Size}
		})
}

// noSuchRollout is the answer about a missing rollout.
var noSuchRollout = protocol.Result{Status: protocol.StatusNotFound, Message: "no rollout of this name"}

func (c *conn) rolloutPlan(r *protocol.Request) {
	h, m := c.host, &r.RolloutPlan
	id := shard.NodeID(m.NodeID)
	if !c.authorizeIn(r, id, m.Name) || !c.hasName(r, m.Name) {
		return
	}
	name, takes, publish, act := string(m.Name), m.TakesMillis, m.Publish, m.Act
	rp := h.set.Of(shard.SlotOf(id, m.Name))
	request, kind := r.ID, r.Kind
	c.read(r, rp, h.consistency(m.Consistency, id), func() {
		rehearsal, now := rp.Machine.RehearseRollout(id, name, rp.EstimatedTime())
		if rehearsal == nil {
			c.Fail(request, kind, &noSuchRollout)
			return
		}
		if refused := rehearse(rehearsal, publish, act); refused.Status != protocol.StatusSuccess {
			c.Fail(request, kind, &protocol.Result{Status: refused.Status, Message: clip(refused.Text)})
			return
		}
		a := protocol.RolloutPlanAnswer{NowMillis: now}
		for _, s := range rehearsal.Run(takes) {
			a.Steps.Append(s)
		}
		c.Answer(request, &a)
	})
}

// rehearse does the first acts of a plan.
func rehearse(on *rollout.Rehearsal, publish bool, act kind.Act) (a rollout.Answer) {
	if act.Verb != 0 {
		a = on.Act(act)
	}
	if publish && a.Status == protocol.StatusSuccess {
		a = on.Publish()
	}
	return a
}
