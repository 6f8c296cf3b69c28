package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rollout"
)

func (c *conn) rolloutDescribe(r *protocol.Request) {
	m := &r.RolloutDescribe
	c.describePart(r, partRequest{
		kind: shard.KindRollout, node: m.NodeID, name: m.Name, part: m.Part, after: m.After, limit: m.Limit, why: m.Why,
		consistency: m.Consistency,
	}, func(on *shard.Machine, of shard.Ref, o shard.PartOptions) (shard.Found, protocol.AnswerMessage) {
		var page shard.RolloutDescription
		return on.DescribeRollout(of.Node, of.Name, o, &page), rolloutPage(&page, o)
	})
}

// rolloutPage returns a page as clients get it. Reasons and rows share its bytes, so that it fits in a frame whatever
// the reasons say.
func rolloutPage(page *shard.RolloutDescription, o shard.PartOptions) *protocol.RolloutDescribeAnswer {
	a := &protocol.RolloutDescribeAnswer{
		Revision: uint64(page.Revision), NowMillis: page.Now, Phase: protocol.RolloutPhase(page.Phase),
		Head: headOf(&page.PartPage, o),
	}
	for i := range page.Reasons {
		a.Reasons.Append(reasonRecord(&page.Reasons[i]))
	}
	a.Next = appendRows(&a.Rows, &page.PartPage, a.Reasons.Size())
	return a
}

// reasonRecord returns a reason as clients get it.
func reasonRecord(re *rollout.Reason) protocol.Reason {
	out := protocol.Reason{
		Code: []byte(re.Code), Text: []byte(re.String()), Location: []byte(re.Location),
		Blocked: re.Blocked, Seq: re.Seq, Waiting: uint64(re.Waiting), Of: uint64(re.Of), Since: re.Since,
		Until: re.Until,
	}
	for i := range re.Named {
		out.Named.Append(protocol.Label(re.Named[i].Name))
	}
	return out
}

func (c *conn) rolloutList(r *protocol.Request) {
	m := &r.RolloutList
	c.listObjects(r, listRequest{
		kind: shard.KindRollout, node: m.NodeID, shard: m.ShardID, prefix: m.Prefix, after: m.After, limit: m.Limit,
		consistency: m.Consistency,
	}, func(rp *replica.Replica, n shard.NodeID, prefix, after string, limit int) listPage {
		page, last, more := rp.Machine.ListRollouts(n, prefix, after, limit, nil)
		var a protocol.RolloutListAnswer
		return listPage{
			n: len(page), last: last, more: more,
			add: func(i int) ([]byte, int) {
				if c.seesObject(n, string(page[i].Name)) {
					a.Rollouts.Append(page[i])
				}
				return page[i].Name, a.Rollouts.Size()
			},
			done: func(next []byte) protocol.AnswerMessage {
				a.Next = next
				return &a
			},
		}
	})
}

// noSuchRollout is the answer about a rollout that is not there.
var noSuchRollout = protocol.Result{Status: protocol.StatusNotFound, Message: "no rollout of this name"}

func (c *conn) rolloutPlan(r *protocol.Request) {
	h, m := c.host, &r.RolloutPlan
	id := shard.NodeID(m.NodeID)
	if !c.authorizeIn(r, id, m.Name) || !c.hasName(r, m.Name) || !c.knowsKind(r, shard.KindRollout) {
		return
	}
	name, takes, publish, act := string(m.Name), m.TakesMillis, m.Publish, cloneAct(&m.Act)
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
			a.Steps.Append(protocol.PlannedStep{
				AtMillis: s.At, Location: []byte(s.Location), Seq: s.Seq, Cause: protocol.TargetCause(s.Cause),
			})
		}
		c.Answer(request, &a)
	})
}

// rehearse does what a plan begins with.
func rehearse(on *rollout.Rehearsal, publish bool, act rollout.Act) (a rollout.Answer) {
	if act.Verb != 0 {
		a = on.Act(act)
	}
	if publish && a.Status == protocol.StatusSuccess {
		a = on.Publish()
	}
	return a
}

// cloneAct returns an act with texts of its own: a read may outlive the request.
func cloneAct(m *protocol.Act) rollout.Act {
	a := replica.ActOf(m)
	a.Author, a.Reason = string(m.Author), string(m.Reason)
	a.Locations = slices.Clone(a.Locations)
	for i, name := range a.Locations {
		a.Locations[i] = string([]byte(name))
	}
	return a
}
