package server

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// describePart has a part described when the replica is as fresh as requested. If the part was found, the message
// from describe is the answer.
func (c *conn) describePart(r *protocol.Request, k shard.ObjectKind, q *protocol.PartRequest,
	describe func(m *machine.Machine, of shard.Ref, o shard.PartOptions) (shard.Found, protocol.AnswerMessage)) {
	of := shard.Ref{Kind: k, Node: shard.NodeID(q.NodeID), Name: string(q.Name)}
	if !c.authorizeIn(r, of.Node, q.Name) || !c.hasName(r, q.Name) || c.isAhead(r, q.Generation) {
		return
	}
	o := shard.PartOptions{
		Part: string(q.Part), After: q.After, Limit: itemLimit(q.Limit), Why: q.Why && q.After == 0,
	}
	rp := c.host.set.Of(shard.SlotOf(of.Node, q.Name))
	request, kind := r.ID, r.Kind
	c.read(r, rp, c.host.consistency(q.Consistency, of.Node), func() {
		o.Now = rp.EstimatedTime()
		found, answer := describe(rp.Machine, of, o)
		if found == shard.FoundPart {
			c.Answer(request, answer)
			return
		}
		why := "no " + of.Kind.String() + " of this name"
		if found == shard.FoundObject {
			why = "the " + of.Kind.String() + " has no such part"
		}
		c.Fail(request, kind, &protocol.Result{Status: protocol.StatusNotFound, Message: why})
	})
}

// appendRows appends the rows of a page with so many bytes taken already, and returns where the next page begins.
// Only the first page has the head.
func appendRows(to *protocol.Rows, page *shard.PartPage, taken int) (next uint64) {
	for i, row := range page.Rows {
		to.Append(protocol.Row{ID: row.ID, Body: row.Body})
		if endsPage(taken+to.Size(), i, len(page.Rows), page.More) {
			return row.ID
		}
	}
	return 0
}

// headOf is the head of a page: the first page has it.
func headOf(page *shard.PartPage, o shard.PartOptions) []byte {
	if o.After != 0 {
		return nil
	}
	return page.Head
}

// listPage is the answer to a list of objects, page by page.
type listPage[V any] struct {
	answer protocol.AnswerMessage
	next   *[]byte // of the answer
	add    func(V)
	size   func() int // of the objects in the answer
}

// list lists objects when the replica is as fresh as requested.
func list[V any](c *conn, r *protocol.Request, k shard.ObjectKind, q *protocol.ListRequest,
	read func(m *machine.Machine, n shard.NodeID, prefix, after string, limit int, dst []V) ([]V, string, bool),
	name func(*V) string, begin func(rp *replica.Replica) listPage[V]) {
	id := shard.NodeID(q.NodeID)
	if !c.authorizeIn(r, id, nil) {
		return
	}
	rp := c.shardToList(r, q.ShardID)
	if rp == nil {
		return
	}
	prefix, after, limit, request := string(q.Prefix), string(q.After), itemLimit(q.Limit), r.ID
	c.read(r, rp, c.host.consistency(q.Consistency, id), func() {
		items, last, more := read(rp.Machine, id, prefix, after, limit, nil)
		page := begin(rp)
		for i := range items {
			v := &items[i]
			if c.seesObject(id, name(v)) {
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
		c.Answer(request, page.answer)
	})
}
