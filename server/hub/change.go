package hub

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// change is what happened to a topic's semaphore since a revision: read once, and encoded once for each
// sort of wants, for all watches that stand at that revision. It lives until it is delivered.
type change struct {
	from  shard.Revision // 0: nothing is known, the view is not begun
	kind  shard.DeltaKind
	delta shard.Delta
	news  [wantings]news
}

// newsKind says how a change is told.
type newsKind uint8

const (
	newsUnread newsKind = iota
	newsNone            // there is nothing to tell
	newsFrame           // push tells it all
	newsWhole           // by the pages of a snapshot
	newsAhead           // the replica has not reached the revision
)

// news is a change as watches of one sort of wants are told.
type news struct {
	kind     newsKind
	snapshot bool // push is a snapshot, not a delta
	absent   bool // there is no semaphore of that name
	to       shard.Revision
	push     protocol.SharedPush
}

// news returns what the watch is to be told.
func (k *worker) news(w *watch) *news {
	from := w.revision
	if !w.begun {
		from = 0
	}
	return k.tell(w.topic, k.change(w.topic, from), w.wants)
}

// change returns what happened since a revision.
func (k *worker) change(t *topic, from shard.Revision) *change {
	if c := t.latest; c != nil && c.from == from {
		return c
	}
	c := t.changes[from]
	if c == nil {
		k.visit(t)
		c = k.newChange()
		c.from = from
		c.kind = k.hub.machine.Changes(t.node, t.nameBytes(), from, &c.delta)
		k.spent += readCost
		if t.changes == nil {
			t.changes = make(map[shard.Revision]*change)
		}
		t.changes[from] = c
	}
	t.latest = c
	return c
}

// tell returns the change as watches of these wants are told.
func (k *worker) tell(t *topic, c *change, w wants) *news {
	n := &c.news[w]
	if n.kind != newsUnread {
		return n
	}
	n.to = c.delta.To
	switch c.kind {
	case shard.DeltaNone:
		n.kind = newsNone
	case shard.DeltaBehind:
		n.kind = newsAhead
	case shard.DeltaAbsent:
		k.tellAbsence(c, n)
	case shard.DeltaChanges:
		k.tellChanges(t, c, n, w)
	default:
		k.tellWhole(t, n, w)
	}
	if n.kind == newsFrame {
		k.spent += n.push.Size()
	}
	return n
}

func (k *worker) tellAbsence(c *change, n *news) {
	n.kind, n.absent = newsFrame, true
	switch c.from {
	case 0:
		n.snapshot = true
		n.push = k.encoder.SharedPush(&protocol.WatchSnapshot{Revision: uint64(n.to), First: true, Last: true})
	case n.to:
		// The view is of this very moment. So it shows no semaphore already.
		n.kind = newsNone
	default:
		n.push = k.encoder.SharedPush(&protocol.WatchDelta{
			From: uint64(c.from), To: uint64(n.to), Existence: protocol.ExistenceDeleted,
		})
	}
}

// tellWhole tells all of the semaphore. Where it is gone by now nothing is told: that it went brings the
// worker back.
func (k *worker) tellWhole(t *topic, n *news, w wants) {
	if w&wantsOwners != 0 {
		n.kind = newsWhole
		return
	}
	n.kind = newsNone
	d := &k.brief
	if !k.hub.machine.Describe(t.node, t.nameBytes(), shard.DescribeOptions{}, d) {
		return
	}
	n.kind, n.snapshot, n.to = newsFrame, true, d.Revision
	s := protocol.WatchSnapshot{
		Revision: uint64(d.Revision), First: true, Last: true, Exists: true, Ephemeral: d.Ephemeral, Limit: d.Limit,
	}
	if w&wantsData != 0 {
		s.Data = protocol.View(d.Data)
	}
	n.push = k.encoder.SharedPush(&s)
}

// tellChanges tells the changes in one frame, or all of the semaphore where that is shorter or they are
// too long for a frame.
func (k *worker) tellChanges(t *topic, c *change, n *news, w wants) {
	m := &k.delta
	m.From, m.To = uint64(c.from), uint64(n.to)
	m.DataChanged, m.Data, m.Limit = false, nil, c.delta.Limit
	m.Gone.Reset()
	m.Joined.Reset()
	n.kind = newsNone
	if c.delta.Limit != 0 {
		n.kind = newsFrame
	}
	if w&wantsData != 0 && c.delta.DataChanged {
		n.kind = newsFrame
		m.DataChanged, m.Data = true, protocol.View(c.delta.Data)
	}
	if count := len(c.delta.Gone) + len(c.delta.Joined); w&wantsOwners != 0 && count > 0 {
		n.kind = newsFrame
		if count > longDelta && k.fewerOwners(t, count) || !k.listOwners(&c.delta) {
			n.kind = newsWhole
		}
	}
	if n.kind == newsFrame {
		n.push = k.encoder.SharedPush(m)
	}
	m.Data = nil
}

// fewerOwners tells whether the semaphore has fewer owners than that.
func (k *worker) fewerOwners(t *topic, than int) bool {
	return k.hub.machine.Describe(t.node, t.nameBytes(), shard.DescribeOptions{}, &k.brief) && k.brief.Owners < than
}

// listOwners fills the lists of the delta, and tells whether they fit into a frame.
func (k *worker) listOwners(d *shard.Delta) bool {
	for _, order := range d.Gone {
		k.delta.Gone.Append(protocol.OrderID(order))
	}
	for i := range d.Joined {
		if k.delta.Joined.Size() >= k.hub.options.PageBytes {
			return false
		}
		k.delta.Joined.Append(ownerOf(&d.Joined[i]))
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

func (k *worker) newChange() *change {
	last := len(k.spare) - 1
	if last < 0 {
		return &change{}
	}
	c := k.spare[last]
	k.spare[last] = nil
	k.spare = k.spare[:last]
	return c
}

// forgetChanges lets go of what was read of a topic, when all that was planned of it is delivered.
func (k *worker) forgetChanges(t *topic) {
	for _, c := range t.changes {
		if len(k.spare) < keptChanges {
			clear(c.delta.Joined)
			*c = change{delta: shard.Delta{Joined: c.delta.Joined[:0], Gone: c.delta.Gone[:0]}}
			k.spare = append(k.spare, c)
		}
	}
	if len(t.changes) > keptChanges {
		t.changes = nil
	}
	clear(t.changes)
	t.latest = nil
}
