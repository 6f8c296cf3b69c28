package server

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// knowsKind answers a request about objects of a kind if the cluster has not reached the kind's level.
func (c *conn) knowsKind(r *protocol.Request, kind shard.ObjectKind) bool {
	needs, _ := shard.LevelOfKind(kind)
	if needs <= c.host.meta.Machine.Level() {
		return true
	}
	c.Fail(r.ID, r.Kind, c.host.aboveLevel(needs))
	return false
}

// describePart has a part described when the replica is as fresh as requested. If the part was found, the message
// from describe is the answer.
func (c *conn) describePart(r *protocol.Request, k shard.ObjectKind, q *protocol.PartRequest,
	describe func(m *shard.Machine, of shard.Ref, o shard.PartOptions) (shard.Found, protocol.AnswerMessage)) {
	of := shard.Ref{Kind: k, Node: shard.NodeID(q.NodeID), Name: string(q.Name)}
	if !c.authorizeIn(r, of.Node, q.Name) || !c.hasName(r, q.Name) || !c.knowsKind(r, k) ||
		c.isAhead(r, q.Generation) {
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

// listPage is a page of a list: n objects, how far the list was read, and how each object is added to the answer.
type listPage struct {
	n    int
	last string // the last name looked at
	more bool
	// add appends an object to the answer, and returns the length of the answer by then.
	add    func(i int) (name []byte, bytes int)
	answer protocol.AnswerMessage
	next   *[]byte // of the answer
}

// listObjects lists objects when the replica is as fresh as requested.
func (c *conn) listObjects(r *protocol.Request, k shard.ObjectKind, q *protocol.ListRequest,
	list func(rp *replica.Replica, n shard.NodeID, prefix, after string, limit int) listPage) {
	id := shard.NodeID(q.NodeID)
	if !c.authorizeIn(r, id, nil) || !c.knowsKind(r, k) {
		return
	}
	rp := c.shardToList(r, q.ShardID)
	if rp == nil {
		return
	}
	prefix, after, limit, request := string(q.Prefix), string(q.After), itemLimit(q.Limit), r.ID
	c.read(r, rp, c.host.consistency(q.Consistency, id), func() {
		p := list(rp, id, prefix, after, limit)
		for i := range p.n {
			name, bytes := p.add(i)
			if bytes >= protocol.PageBytes && i < p.n-1 {
				p.last, p.more = string(name), true
				break
			}
		}
		if p.more {
			*p.next = []byte(p.last)
		}
		c.Answer(request, p.answer)
	})
}
