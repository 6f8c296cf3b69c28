package hub

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// change is what happened to a topic's semaphore since a revision: read once, and encoded once for each
// sort of wants, for all watches that stand at that revision. It is kept until it is delivered.
type change struct {
	from    shard.Revision // 0: nothing is known, the view is not begun
	kind    shard.DeltaKind
	delta   shard.Delta
	updates [wantKinds]update
}

// updateKind says how a change is sent.
type updateKind uint8

const (
	updateUnread updateKind = iota
	updateNone              // there is nothing to send
	updateFrame             // push has it all
	updateWhole             // by the pages of a snapshot
	updateAhead             // the replica has not reached the revision
)

// update is a change as watches of one sort of wants get it.
type update struct {
	kind     updateKind
	snapshot bool // push is a snapshot, not a delta
	absent   bool // there is no semaphore of that name
	to       shard.Revision
	push     protocol.SharedPush
}

// updateOf returns what the watch is to get.
func (wo *worker) updateOf(w *watch) *update {
	from := w.revision
	if !w.begun {
		from = 0
	}
	return wo.encodeUpdate(w.topic, wo.change(w.topic, from), w.wants)
}

// change returns what happened since a revision.
func (wo *worker) change(t *topic, from shard.Revision) *change {
	if c := t.latest; c != nil && c.from == from {
		return c
	}
	c := t.changes[from]
	if c == nil {
		wo.visit(t)
		c = wo.newChange()
		c.from = from
		c.kind = wo.hub.machine.Changes(t.node, t.nameBytes(), from, &c.delta)
		wo.spent += readCost
		if t.changes == nil {
			t.changes = make(map[shard.Revision]*change)
		}
		t.changes[from] = c
	}
	t.latest = c
	return c
}

// encodeUpdate returns the change as watches of these wants get it.
func (wo *worker) encodeUpdate(t *topic, c *change, w wants) *update {
	n := &c.updates[w]
	if n.kind != updateUnread {
		return n
	}
	n.to = c.delta.To
	switch c.kind {
	case shard.DeltaNone:
		n.kind = updateNone
	case shard.DeltaBehind:
		n.kind = updateAhead
	case shard.DeltaAbsent:
		wo.encodeAbsence(c, n)
	case shard.DeltaChanges:
		wo.encodeChanges(t, c, n, w)
	default:
		wo.encodeWhole(t, n, w)
	}
	if n.kind == updateFrame {
		wo.spent += n.push.Size()
	}
	return n
}

func (wo *worker) encodeAbsence(c *change, n *update) {
	n.kind, n.absent = updateFrame, true
	switch c.from {
	case 0:
		n.snapshot = true
		n.push = wo.encoder.SharedPush(&protocol.WatchSnapshot{Revision: uint64(n.to), First: true, Last: true})
	case n.to:
		// The view is of this very moment. So it shows no semaphore already.
		n.kind = updateNone
	default:
		n.push = wo.encoder.SharedPush(&protocol.WatchDelta{
			From: uint64(c.from), To: uint64(n.to), Existence: protocol.ExistenceDeleted,
		})
	}
}

// encodeWhole encodes all of the semaphore. Where it is gone by now nothing is sent: that it went brings the
// worker back.
func (wo *worker) encodeWhole(t *topic, n *update, w wants) {
	if w&wantsOwners != 0 {
		n.kind = updateWhole
		return
	}
	n.kind = updateNone
	d := &wo.brief
	if !wo.hub.machine.Describe(t.node, t.nameBytes(), shard.DescribeOptions{}, d) {
		return
	}
	n.kind, n.snapshot, n.to = updateFrame, true, d.Revision
	s := protocol.WatchSnapshot{
		Revision: uint64(d.Revision), First: true, Last: true, Exists: true, Ephemeral: d.Ephemeral, Limit: d.Limit,
	}
	if w&wantsData != 0 {
		s.Data = protocol.View(d.Data)
	}
	n.push = wo.encoder.SharedPush(&s)
}

// encodeChanges encodes the changes in one frame, or all of the semaphore where that is shorter or they are
// too long for a frame.
func (wo *worker) encodeChanges(t *topic, c *change, n *update, w wants) {
	m := &wo.delta
	m.From, m.To = uint64(c.from), uint64(n.to)
	m.DataChanged, m.Data, m.Limit = false, nil, c.delta.Limit
	m.Gone.Reset()
	m.Joined.Reset()
	n.kind = updateNone
	if c.delta.Limit != 0 {
		n.kind = updateFrame
	}
	if w&wantsData != 0 && c.delta.DataChanged {
		n.kind = updateFrame
		m.DataChanged, m.Data = true, protocol.View(c.delta.Data)
	}
	if count := len(c.delta.Gone) + len(c.delta.Joined); w&wantsOwners != 0 && count > 0 {
		n.kind = updateFrame
		if count > longDelta && wo.fewerOwners(t, count) || !wo.listOwners(&c.delta) {
			n.kind = updateWhole
		}
	}
	if n.kind == updateFrame {
		n.push = wo.encoder.SharedPush(m)
	}
	m.Data = nil
}

// fewerOwners reports whether the semaphore has fewer owners than that.
func (wo *worker) fewerOwners(t *topic, than int) bool {
	return wo.hub.machine.Describe(t.node, t.nameBytes(), shard.DescribeOptions{}, &wo.brief) && wo.brief.Owners < than
}

// listOwners fills the lists of the delta, and reports whether they fit into a frame.
func (wo *worker) listOwners(d *shard.Delta) bool {
	for _, order := range d.Gone {
		wo.delta.Gone.Append(protocol.OrderID(order))
	}
	for i := range d.Joined {
		if wo.delta.Joined.Size() >= wo.hub.options.PageBytes {
			return false
		}
		wo.delta.Joined.Append(ownerOf(&d.Joined[i]))
	}
	return true
}

func ownerOf(v *shard.LinkView) protocol.Owner {
	return protocol.Owner{
		OrderID: uint64(v.Order), SessionID: uint64(v.Session), Count: v.Count, Data: protocol.View(v.Data),
	}
}

// keptChanges is how many changes are kept to be used again, with the memory of their lists.
const keptChanges = 16

func (wo *worker) newChange() *change {
	last := len(wo.spare) - 1
	if last < 0 {
		return &change{}
	}
	c := wo.spare[last]
	wo.spare[last] = nil
	wo.spare = wo.spare[:last]
	return c
}

// forgetChanges lets go of what was read of a topic, when all that was planned of it is delivered.
func (wo *worker) forgetChanges(t *topic) {
	for _, c := range t.changes {
		if len(wo.spare) < keptChanges {
			clear(c.delta.Joined)
			*c = change{delta: shard.Delta{Joined: c.delta.Joined[:0], Gone: c.delta.Gone[:0]}}
			wo.spare = append(wo.spare, c)
		}
	}
	if len(t.changes) > keptChanges {
		t.changes = nil
	}
	clear(t.changes)
	t.latest = nil
}
