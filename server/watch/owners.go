package watch

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// owners is the form for semaphores: data, a limit, and owners by order id.
type owners struct {
	worker  *worker
	brief   shard.Description
	reading reading[shard.LinkView, ownerItems]
}

// ownerItems locates owners in descriptions and deltas.
type ownerItems struct{}

func (ownerItems) id(v *shard.LinkView) uint64                      { return uint64(v.Order) }
func (ownerItems) inPage(d *shard.Description) []shard.LinkView     { return d.Links }
func (ownerItems) inDelta(d *shard.Delta) []shard.LinkView          { return d.Joined }
func (ownerItems) add(m *protocol.WatchSnapshot, v *shard.LinkView) { m.Owners.Append(ownerOf(v)) }

// keep copies nothing, because the owners the machine returned never change.
func (ownerItems) keep(_ []shard.LinkView, room []byte) []byte { return room }

func ownerOf(v *shard.LinkView) protocol.Owner {
	return protocol.Owner{
		OrderID: uint64(v.Order), SessionID: uint64(v.Session), Count: v.Count, Data: protocol.View(v.Data),
	}
}

func (o *owners) snapshot(t *topic) *snapshot { return snapshotOf(o.worker, &o.reading, t) }

func (o *owners) encodeWhole(t *topic, n *update, w wants) {
	if w&wantsOwners != 0 {
		n.kind = updateWhole
		return
	}
	n.kind = updateNone
	d := &o.brief
	if !o.worker.hub.machine.Describe(t.ref(), shard.DescribeOptions{}, d) {
		return
	}
	n.kind, n.snapshot, n.to = updateFrame, true, d.Revision
	s := protocol.WatchSnapshot{
		Revision: uint64(d.Revision), First: true, Last: true, Exists: true, Ephemeral: d.Ephemeral, Limit: d.Limit,
	}
	if w&wantsData != 0 {
		s.Data = protocol.View(d.Data)
	}
	n.push = o.worker.encoder.SharedPush(&s)
}

func (o *owners) encodeChanges(t *topic, c *change, n *update, w wants) {
	m := o.worker.beginDelta(c, n)
	m.Limit = c.delta.Limit
	if c.delta.Limit != 0 {
		n.kind = updateFrame
	}
	if w&wantsData != 0 && c.delta.DataChanged {
		n.kind = updateFrame
		m.DataChanged, m.Data = true, protocol.View(c.delta.Data)
	}
	if count := len(c.delta.Gone) + len(c.delta.Joined); w&wantsOwners != 0 && count > 0 {
		n.kind = updateFrame
		if count > longDelta && o.fewerThan(t, count) || !o.list(m, &c.delta) {
			n.kind = updateWhole
		}
	}
	o.worker.endDelta(n)
}

// fewerThan reports whether the semaphore has fewer than count owners.
func (o *owners) fewerThan(t *topic, count int) bool {
	return o.worker.hub.machine.Describe(t.ref(), shard.DescribeOptions{}, &o.brief) && o.brief.Owners < count
}

// list fills the frame's lists, and reports whether the owners fit.
func (o *owners) list(m *protocol.WatchDelta, d *shard.Delta) bool {
	listGone(m, d)
	for i := range d.Joined {
		if m.Joined.Size() >= o.worker.hub.options.PageBytes {
			return false
		}
		m.Joined.Append(ownerOf(&d.Joined[i]))
	}
	return true
}
