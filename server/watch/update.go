package watch

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// change is what happened in a topic since a revision. A change is read once, and encoded once for every combination
// of wants, for all watches at that revision. change is kept until it is delivered.
type change struct {
	from    shard.Revision // 0: nothing is known, because the view has not begun
	kind    shard.DeltaKind
	delta   shard.Delta
	updates [wantKinds]update
}

// form reads and encodes a topic's state. There are two forms: owners for semaphores, and rows for all other kinds.
// Everything else about watches is the same for every kind.
type form interface {
	// encodeChanges encodes the changes in one frame, or decides to send the whole, because the whole is shorter or
	// the changes do not fit in a frame.
	encodeChanges(t *topic, c *change, n *update, w wants)
	// encodeWhole encodes everything for watches with the given wants, if one frame always suffices, or decides to
	// send a snapshot's pages. If the object is gone by now, nothing is sent: the deletion triggers the worker again.
	encodeWhole(t *topic, n *update, w wants)
	// snapshot reads and encodes a snapshot, or returns nil if a snapshot is impossible now.
	snapshot(t *topic) *snapshot
}

// updateKind is how a change is sent.
type updateKind uint8

const (
	updateUnread updateKind = iota
	updateNone              // nothing to send
	updateFrame             // push is the whole update
	updateWhole             // the pages of a snapshot are the update
	updateAhead             // the replica has not reached the revision
)

// update is a change as sent to watches with one combination of wants.
type update struct {
	kind     updateKind
	snapshot bool // push is a snapshot, not a delta
	absent   bool // no object has the name
	to       shard.Revision
	push     protocol.SharedPush
}

// updateOf returns the update for the watch.
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
		c.kind = wo.hub.machine.Changes(t.ref(), from, &c.delta)
		wo.spent += readCost
		if t.changes == nil {
			t.changes = make(map[shard.Revision]*change)
		}
		t.changes[from] = c
	}
	t.latest = c
	return c
}

// encodeUpdate returns the change in the form for watches with these wants.
func (wo *worker) encodeUpdate(t *topic, c *change, w wants) *update {
	n := &c.updates[w]
	if n.kind != updateUnread {
		return n
	}
	n.to = c.delta.To
	switch c.kind {
	case shard.DeltaNone, shard.DeltaAway: // a watch in a slot that is away ends
		n.kind = updateNone
	case shard.DeltaBehind:
		n.kind = updateAhead
	case shard.DeltaAbsent:
		wo.encodeAbsence(c, n)
	case shard.DeltaChanges:
		t.form.encodeChanges(t, c, n, w)
	default:
		t.form.encodeWhole(t, n, w)
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
		// The view already has this revision, so it shows no object.
		n.kind = updateNone
	default:
		n.push = wo.encoder.SharedPush(&protocol.WatchDelta{
			From: uint64(c.from), To: uint64(n.to), Existence: protocol.ExistenceDeleted,
		})
	}
}

// beginDelta begins a frame with changes, in the previous frame's memory. The frame is not sent yet.
func (wo *worker) beginDelta(c *change, n *update) *protocol.WatchDelta {
	m := &wo.delta
	m.From, m.To = uint64(c.from), uint64(n.to)
	m.DataChanged, m.Data, m.Limit = false, nil, 0
	m.Gone.Reset()
	m.Joined.Reset()
	m.Rows.Reset()
	n.kind = updateNone
	return m
}

// endDelta encodes the frame, if it should be sent.
func (wo *worker) endDelta(n *update) {
	if n.kind == updateFrame {
		n.push = wo.encoder.SharedPush(&wo.delta)
	}
	wo.delta.Data = nil
}

func listGone(m *protocol.WatchDelta, d *shard.Delta) {
	for _, id := range d.Gone {
		m.Gone.Append(protocol.OrderID(id))
	}
}

// keptChanges is the number of changes kept for reuse, with their lists' memory. keptRowBytes is the maximum row
// bytes in a kept change.
const (
	keptChanges  = 16
	keptRowBytes = 16 << 10
)

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

// emptiedDelta returns a delta to be filled again, in d's memory unless the memory is large.
func emptiedDelta(d *shard.Delta) shard.Delta {
	rows := 0
	for i := range d.Rows {
		rows += len(d.Rows[i].Body)
	}
	clear(d.Joined)
	clear(d.Rows)
	if rows > keptRowBytes {
		return shard.Delta{Joined: d.Joined[:0], Gone: d.Gone[:0]}
	}
	d.Data = ""
	return *d
}

// forgetChanges drops a topic's changes after their delivery.
func (wo *worker) forgetChanges(t *topic) {
	for _, c := range t.changes {
		if len(wo.spare) < keptChanges {
			*c = change{delta: emptiedDelta(&c.delta)}
			wo.spare = append(wo.spare, c)
		}
	}
	if len(t.changes) > keptChanges {
		t.changes = nil
	}
	clear(t.changes)
	t.latest = nil
}
