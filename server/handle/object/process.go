package object

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/process"
)

func (h handlers) processDescribe(r *handle.Request) (handle.Reply, error) {
	return h.describePart(r, shard.KindProcess, &r.ProcessDescribe.SectionRequest, func(
		on *machine.Machine, of shard.Ref, o shard.PartOptions,
	) (shard.Found, protocol.AnswerMessage) {
		var page process.Description
		return process.Describe(on, of.Node, of.Name, o, &page), processPage(&page, o)
	})
}

// processPage is rolloutPage for processes.
func processPage(page *process.Description, o shard.PartOptions) *protocol.ProcessDescribeAnswer {
	a := &protocol.ProcessDescribeAnswer{
		Revision: uint64(page.Revision), NowMillis: page.Now, Head: headOf(&page.PartPage, o),
	}
	for i := range page.Reasons {
		a.Reasons.Append(page.Reasons[i].Record(page.Now))
	}
	a.Next = appendRows(&a.Rows, &page.PartPage, a.Reasons.Size())
	return a
}

func (h handlers) processList(r *handle.Request) (handle.Reply, error) {
	name := func(v *kind.SummaryRow) string { return v.Name }
	return list(h, r, &r.ProcessList.ListRequest, process.List, name,
		func(rp *replica.Replica) listPage[kind.SummaryRow] {
			a := &protocol.ProcessListAnswer{NowMillis: max(rp.EstimatedTime(), rp.Machine.Time())}
			return listPage[kind.SummaryRow]{a, &a.Next, a.Processes.Append, a.Processes.Size, &a.Missing}
		})
}

// inboxOpen starts inbox pushes to a member over the connection, if the host leads the process's shard.
func (h handlers) inboxOpen(r *handle.Request) (handle.Reply, error) {
	m := r.InboxOpen
	id := shard.NodeID(m.NodeID)
	if err := h.Object(r, id, m.Name); err != nil {
		return nil, err
	}
	if !r.Conn.Understands(protocol.KindInbox) {
		return nil, handle.Refuse(protocol.StatusUnsupported,
			"the client did not announce support for INBOX")
	}
	if err := h.BindingIn(r, shard.SessionID(m.SessionID), id); err != nil {
		return nil, err
	}
	m.Name = slices.Clone(m.Name)
	return h.openInbox(&m)
}

// openInbox is inboxOpen for an authorized request, whose name it keeps.
func (h handlers) openInbox(m *protocol.InboxOpen) (handle.Reply, error) {
	slot := shard.SlotOf(shard.NodeID(m.NodeID), m.Name)
	rp := h.Set.Of(slot)
	if !rp.Leads() || !rp.HasSlot(slot) {
		return h.Elsewhere(rp, slot, 0, func() (handle.Reply, error) { return h.openInbox(m) })
	}
	var open func(sure bool) handle.Reply
	open = func(sure bool) handle.Reply {
		return handle.Later(func(t handle.Ticket) {
			switch answered, err := rp.OpenInbox(t.Conn, t.Ticket, m, sure); {
			case err != nil:
				t.Fail(err)
			case answered:
				t.Conn.Flush(false)
			default: // the replica may not have applied the join yet
				t.Complete(h.ConfirmLed(rp, func() (handle.Reply, error) { return open(true), nil }), nil)
			}
		})
	}
	return open(false), nil
}
