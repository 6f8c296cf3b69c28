package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

func (c *conn) processDescribe(r *protocol.Request) {
	c.describePart(r, shard.KindProcess, &r.ProcessDescribe.PartRequest, func(
		on *machine.Machine, of shard.Ref, o shard.PartOptions,
	) (shard.Found, protocol.AnswerMessage) {
		var page machine.ProcessDescription
		return on.DescribeProcess(of.Node, of.Name, o, &page), processPage(&page, o)
	})
}

// processPage is rolloutPage for processes.
func processPage(page *machine.ProcessDescription, o shard.PartOptions) *protocol.ProcessDescribeAnswer {
	a := &protocol.ProcessDescribeAnswer{
		Revision: uint64(page.Revision), NowMillis: page.Now, Head: headOf(&page.PartPage, o),
	}
	for i := range page.Reasons {
		a.Reasons.Append(page.Reasons[i].Record(page.Now))
	}
	a.Next = appendRows(&a.Rows, &page.PartPage, a.Reasons.Size())
	return a
}

func (c *conn) processList(r *protocol.Request) {
	name := func(v *kind.SummaryRow) string { return v.Name }
	list(c, r, shard.KindProcess, &r.ProcessList.ListRequest, (*machine.Machine).ListProcesses, name,
		func(rp *replica.Replica) listPage[kind.SummaryRow] {
			a := &protocol.ProcessListAnswer{NowMillis: max(rp.EstimatedTime(), rp.Machine.Time())}
			return listPage[kind.SummaryRow]{a, &a.Next, a.Processes.Append, a.Processes.Size}
		})
}

// inboxOpen has the inbox of a member pushed over the connection, if this host leads the shard of the process.
func (c *conn) inboxOpen(r *protocol.Request) {
	h, m := c.host, &r.InboxOpen
	id, session := shard.NodeID(m.NodeID), shard.SessionID(m.SessionID)
	if !c.authorizeIn(r, id, m.Name) || !c.hasName(r, m.Name) {
		return
	}
	if !c.pushes.Allows(protocol.KindInbox) {
		c.failure(r, protocol.StatusUnsupported, "the client has not announced that it understands INBOX")
		return
	}
	if b := c.bindingOf(r, session); b == nil {
		return
	} else if b.node != id {
		c.failure(r, protocol.StatusBadSession, otherNode)
		return
	}
	rp := h.set.Of(shard.SlotOf(id, m.Name))
	if !rp.Leads() {
		c.moved(r.ID, r.Kind, rp)
		return
	}
	if rp.OpenInbox(c, r.ID, m, false) {
		return
	}
	// This copy may not have come as far as the joining.
	request, open := r.ID, *m
	open.Name = slices.Clone(m.Name)
	c.confirmLed(r.ID, r.Kind, rp, func() { rp.OpenInbox(c, request, &open, true) })
}
