package watch

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// change is what happened in a topic since a revision. A change is read once, and encoded once for each combination
// of wants, for all watches at that revision. It is kept until it is delivered.
type change struct {
	from    shard.Revision // 0: nothing is known, because the view is not begun
	kind    shard.DeltaKind
	delta   shard.Delta
	updates [wantKinds]update
}

// form is how the state of a topic is read and encoded. There are two forms: owners for semaphores, and rows for all
// other kinds. Everything else about watches is the same for every kind.
type form interface {
	// encodeChanges encodes the changes in one frame, or says that the whole is to be sent, because the whole is
	// shorter or the changes are too long for a frame.
	encodeChanges(t *topic, c *change, n *update, w wants)
	// encodeWhole encodes everything for watches with such wants, if one frame always suffices, or says that the
	// pages of a snapshot are to be sent. If the object is gone by now nothing is sent: the deletion brings the
	// worker back.
	encodeWhole(t *topic, n *update, w wants)
	// snapshot reads and encodes a snapshot, or returns nil if a snapshot is impossible now.
	snapshot(t *topic) *snapshot
}

// updateKind says how a change is sent.
type updateKind uint8

const (
	updateUnread updateKind = iota
	updateNone              // there is nothing to send
	updateFrame             // push is the whole update
	updateWhole             // the pages of a snapshot are the update
	updateAhead             // the replica has not reached the revision
)

// update is a change as watches with one combination of wants get it.
type update struct {
	kind     updateKind
	snapshot bool // push is a snapshot, not a delta
	absent   bool // no object has the name
	to       shard.Revision
	push     protocol.SharedPush
}

// updateOf returns the update that the watch is to get.
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

// encodeUpdate returns the change as watches with these wants get it.
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
		// The view is of this very revision, so it shows no object already.
		n.kind = updateNone
	default:
		n.push = wo.encoder.SharedPush(&protocol.WatchDelta{
			From: uint64(c.from), To: uint64(n.to), Existence: protocol.ExistenceDeleted,
		})
	}
}

// beginDelta begins a frame of changes, in the memory of the previous frame. So far the frame is not to be sent.
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

// endDelta encodes the frame, if it is to be sent.
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

// keptChanges is how many changes are kept for further use, with the memory of their lists, and keptRowBytes is how
// many bytes of rows a kept change may have.
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

// emptiedDelta returns a delta to be filled again, in the memory of d if that is not much.
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

// forgetChanges drops the changes of a topic after their delivery.
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
