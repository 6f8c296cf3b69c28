package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

func (c *conn) processDescribe(r *protocol.Request) {
	c.describePart(r, shard.KindProcess, &r.ProcessDescribe.PartRequest, func(
		on *shard.Machine, of shard.Ref, o shard.PartOptions,
	) (shard.Found, protocol.AnswerMessage) {
		var page shard.ProcessDescription
		return on.DescribeProcess(of.Node, of.Name, o, &page), processPage(&page, o)
	})
}

// processPage is rolloutPage for processes.
func processPage(page *shard.ProcessDescription, o shard.PartOptions) *protocol.ProcessDescribeAnswer {
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
	c.listObjects(r, shard.KindProcess, &r.ProcessList.ListRequest, func(
		rp *replica.Replica, n shard.NodeID, prefix, after string, limit int,
	) listPage {
		page, last, more := rp.Machine.ListProcesses(n, prefix, after, limit, nil)
		a := protocol.ProcessListAnswer{NowMillis: max(rp.EstimatedTime(), rp.Machine.Time())}
		return listPage{
			n: len(page), last: last, more: more, answer: &a, next: &a.Next,
			add: func(i int) ([]byte, int) {
				if c.seesObject(n, page[i].Name) {
					a.Processes.Append(page[i])
				}
				return []byte(page[i].Name), a.Processes.Size()
			},
		}
	})
}

// inboxOpen has the inbox of a member pushed over the connection, if this host leads the shard of the process.
func (c *conn) inboxOpen(r *protocol.Request) {
	h, m := c.host, &r.InboxOpen
	id, session := shard.NodeID(m.NodeID), shard.SessionID(m.SessionID)
	if !c.authorizeIn(r, id, m.Name) || !c.hasName(r, m.Name) || !c.knowsKind(r, shard.KindProcess) {
		return
	}
	if !c.pushes.Allows(protocol.KindInbox) {
		c.failure(r, protocol.StatusUnsupported, "the client has not announced that it understands INBOX")
		return
	}
	if !c.actsFor(r, session, id) {
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
	request, kind, open := r.ID, r.Kind, *m
	open.Name = slices.Clone(m.Name)
	rp.Confirm(func(ok, led bool) {
		switch {
		case !ok:
			c.Fail(request, kind, &notUpToDate)
		case !led:
			c.moved(request, kind, rp)
		default:
			rp.OpenInbox(c, request, &open, true)
		}
		c.flush()
	})
}
