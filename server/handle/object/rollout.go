package object

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/rollout"
)

func (h handlers) rolloutDescribe(r *handle.Request) (handle.Reply, error) {
	return h.describePart(r, shard.KindRollout, &r.RolloutDescribe.SectionRequest, func(
		on *machine.Machine, of shard.Ref, o shard.PartOptions,
	) (shard.Found, protocol.AnswerMessage) {
		var page rollout.Description
		found := rollout.Describe(on, of.Node, of.Name, o, &page)
		h.noteDetached(page.Reasons)
		return found, rolloutPage(&page, o)
	})
}

// noteDetached marks named instances and sources whose sessions are detached, if the local host leads the sessions'
// home shards: no other host knows.
func (h handlers) noteDetached(reasons []rollout.Reason) {
	now := time.Now()
	for k := range reasons {
		for j := range reasons[k].Named {
			la := &reasons[k].Named[j]
			id := shard.SessionID(la.Session)
			var since time.Duration
			since, la.Detached = h.Set.Home(id).Leases.Detached(id, now)
			la.DetachedFor = uint64(since.Milliseconds())
		}
	}
}

// rolloutPage returns a page in the form for clients. Reasons and rows share the page's byte limit, so that the page
// fits in a frame however long the reasons are.
func rolloutPage(page *rollout.Description, o shard.PartOptions) *protocol.RolloutDescribeAnswer {
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

func (h handlers) rolloutList(r *handle.Request) (handle.Reply, error) {
	name := func(v *kind.Summary) string { return v.Name }
	return list(h, r, &r.RolloutList.ListRequest, rollout.List, name,
		func(*replica.Replica) listPage[kind.Summary] {
			a := &protocol.RolloutListAnswer{}
			return listPage[kind.Summary]{a, &a.Next, a.Rollouts.Append, a.Rollouts.Size, &a.Missing}
		})
}

// rolloutPlan answers with the expected course of a rollout, after an optional action on a copy.
func (h handlers) rolloutPlan(r *handle.Request) (handle.Reply, error) {
	m := &r.RolloutPlan
	id := shard.NodeID(m.NodeID)
	if err := h.Object(r, id, m.Name); err != nil {
		return nil, err
	}
	name, takes, publish, act := string(m.Name), m.TakesMillis, m.Publish, m.Action
	slot, consistency := shard.SlotOf(id, m.Name), h.Consistency(m.Consistency, id)
	return h.ReadIn(slot, 0, consistency, func(rp *replica.Replica) (handle.Reply, error) {
		rehearsal, now := rollout.Rehearse(rp.Machine, id, name, rp.EstimatedTime())
		if rehearsal == nil {
			return nil, handle.Refuse(protocol.StatusNotFound, "no rollout of this name")
		}
		if refused := rehearse(rehearsal, publish, act); refused.Status != protocol.StatusSuccess {
			return nil, handle.Refuse(refused.Status, refused.Text)
		}
		a := &protocol.RolloutPlanAnswer{NowMillis: now}
		for _, s := range rehearsal.Run(takes) {
			a.Steps.Append(s)
		}
		return a, nil
	})
}

// rehearse performs a plan's first actions.
func rehearse(on *rollout.Rehearsal, publish bool, act kind.Action) (a rollout.Answer) {
	if act.Kind != 0 {
		a = on.Act(act)
	}
	if publish && a.Status == protocol.StatusSuccess {
		a = on.Publish()
	}
	return a
}
