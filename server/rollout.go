package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rollout"
)

// knowsRollouts answers a request about rollouts where the cluster has not reached the level that brings them.
func (c *conn) knowsRollouts(r *protocol.Request) bool {
	needs, _ := shard.LevelOfKind(shard.KindRollout)
	if needs <= c.host.meta.Machine.Level() {
		return true
	}
	c.Fail(r.ID, r.Kind, c.host.aboveLevel(needs))
	return false
}

// noSuchRollout is the answer about a rollout that is not there, noSuchPart about one that has no such part.
var (
	noSuchRollout = protocol.Result{Status: protocol.StatusNotFound, Message: "no rollout of this name"}
	noSuchPart    = protocol.Result{Status: protocol.StatusNotFound, Message: "the rollout has no such part"}
)

func (c *conn) rolloutDescribe(r *protocol.Request) {
	h, m := c.host, &r.RolloutDescribe
	id := shard.NodeID(m.NodeID)
	if !c.authorizeIn(r, id) || !c.hasName(r, m.Name) || !c.knowsRollouts(r) {
		return
	}
	name := string(m.Name)
	o := shard.PartOptions{
		Part: string(m.Part), After: m.After, Limit: itemLimit(m.Limit), Why: m.Why && m.After == 0,
	}
	rp := h.set.Of(shard.SlotOf(id, m.Name))
	request := r.ID
	c.read(r, rp, h.consistency(m.Consistency, id), func() { c.describeRollout(rp, request, id, name, o) })
}

// describeRollout answers with a page.
func (c *conn) describeRollout(rp *replica.Replica, request uint64, id shard.NodeID, name string,
	o shard.PartOptions) {
	var page shard.RolloutDescription
	o.Now = rp.EstimatedTime()
	switch rp.Machine.DescribeRollout(id, name, o, &page) {
	case shard.FoundNothing:
		c.Fail(request, protocol.KindRolloutDescribe, &noSuchRollout)
		return
	case shard.FoundObject:
		c.Fail(request, protocol.KindRolloutDescribe, &noSuchPart)
		return
	}
	if o.After != 0 {
		page.Head = nil
	}
	c.Answer(request, pageOf(&page))
}

// pageOf returns a page as clients get it. Reasons and rows share its bytes, so that it fits in a frame whatever the
// reasons say.
func pageOf(page *shard.RolloutDescription) *protocol.RolloutDescribeAnswer {
	a := &protocol.RolloutDescribeAnswer{
		Revision: uint64(page.Revision), NowMillis: page.Now, Phase: protocol.RolloutPhase(page.Phase), Head: page.Head,
	}
	for i := range page.Reasons {
		a.Reasons.Append(reasonRecord(&page.Reasons[i]))
	}
	for i, row := range page.Rows {
		a.Rows.Append(protocol.Row{ID: row.ID, Body: row.Body})
		if endsPage(a.Reasons.Size()+a.Rows.Size(), i, len(page.Rows), page.More) {
			a.Next = row.ID
			break
		}
	}
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
	m := r.RolloutList
	id := shard.NodeID(m.NodeID)
	if !c.authorizeIn(r, id) || !c.knowsRollouts(r) {
		return
	}
	rp := c.shardToList(r, m.ShardID)
	if rp == nil {
		return
	}
	prefix, after, request := string(m.Prefix), string(m.After), r.ID
	c.read(r, rp, c.host.consistency(m.Consistency, id), func() {
		page, last, more := rp.Machine.ListRollouts(id, prefix, after, itemLimit(m.Limit), nil)
		var a protocol.RolloutListAnswer
		for i := range page {
			a.Rollouts.Append(page[i])
			if a.Rollouts.Size() >= protocol.PageBytes && i < len(page)-1 {
				last, more = string(page[i].Name), true
				break
			}
		}
		if more {
			a.Next = []byte(last)
		}
		c.Answer(request, &a)
	})
}

func (c *conn) rolloutPlan(r *protocol.Request) {
	h, m := c.host, &r.RolloutPlan
	id := shard.NodeID(m.NodeID)
	if !c.authorizeIn(r, id) || !c.hasName(r, m.Name) || !c.knowsRollouts(r) {
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
