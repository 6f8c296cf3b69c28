package object

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// describePart calls describe when the replica is as fresh as requested, and answers with the message from describe
// if the part was found.
func (h handlers) describePart(r *handle.Request, k shard.ObjectKind, q *protocol.SectionRequest,
	describe func(m *machine.Machine, of shard.Ref, o shard.PartOptions) (shard.Found, protocol.AnswerMessage),
) (handle.Reply, error) {
	of := shard.Ref{Kind: k, Node: shard.NodeID(q.NodeID), Name: string(q.Name)}
	if err := h.Object(r, of.Node, q.Name); err != nil {
		return nil, err
	}
	o := shard.PartOptions{
		Part: string(q.Section), After: q.After, Limit: handle.ItemLimit(q.Limit), Why: q.Explain && q.After == 0,
	}
	slot, consistency := shard.SlotOf(of.Node, q.Name), h.Consistency(q.Consistency, of.Node)
	return h.ReadIn(slot, q.Generation, consistency, func(rp *replica.Replica) (handle.Reply, error) {
		o.Now = rp.EstimatedTime()
		switch found, answer := describe(rp.Machine, of, o); found {
		case shard.FoundPart:
			return answer, nil
		case shard.FoundObject:
			return nil, handle.Refuse(protocol.StatusNotFound, "the "+of.Kind.String()+" does not have the "+
				"requested section")
		}
		return nil, handle.Refuse(protocol.StatusNotFound, "no "+of.Kind.String()+" of this name")
	})
}

// appendRows appends a page's rows, and returns the start of the next page. taken is the number of page bytes that
// are already used.
func appendRows(to *protocol.Rows, page *shard.PartPage, taken int) (next uint64) {
	for i, row := range page.Rows {
		to.Append(protocol.Row{ID: row.ID, Body: row.Body})
		if handle.EndsPage(taken+to.Size(), i, len(page.Rows), page.More) {
			return row.ID
		}
	}
	return 0
}

// headOf returns a page's head: only the first page has one.
func headOf(page *shard.PartPage, o shard.PartOptions) []byte {
	if o.After != 0 {
		return nil
	}
	return page.Head
}

// listPage is the answer to an object list request, page by page.
type listPage[V any] struct {
	answer protocol.AnswerMessage
	next   *[]byte // in the answer, as is missing
	add    func(V)
	size   func() int // of the objects in the answer

	missing *protocol.SlotRanges
}

// list lists objects when the replica is as fresh as requested.
func list[V any](h handlers, r *handle.Request, q *protocol.ListRequest,
	read func(m *machine.Machine, n shard.NodeID, prefix, after string, limit int, dst []V) ([]V, string, bool),
	name func(*V) string, begin func(rp *replica.Replica) listPage[V],
) (handle.Reply, error) {
	id := shard.NodeID(q.NodeID)
	if err := h.AuthorizeIn(r, id, nil); err != nil {
		return nil, err
	}
	prefix, after, limit, by := string(q.Prefix), string(q.After), handle.ItemLimit(q.Limit), r.Caller
	consistency := h.Consistency(q.Consistency, id)
	return h.ReadPage(q.ShardID, &q.ListSlots, consistency, func(p *handle.Page) (handle.Reply, error) {
		items, last, more := read(p.Machine, id, prefix, after, limit, nil)
		page := begin(p.Replica)
		*page.missing = p.Missing
		for i := range items {
			v := &items[i]
			if p.Has(shard.SlotOf(id, protocol.View(name(v)))) && by.SeesObject(id, name(v)) {
				page.add(*v)
			}
			if page.size() >= protocol.PageBytes && i < len(items)-1 {
				last, more = name(v), true
				break
			}
		}
		if more {
			*page.next = []byte(last)
		}
		return page.answer, nil
	})
}
