package watch

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// rows is the form for all kinds except semaphores: a head, and rows by id.
type rows struct {
	worker  *worker
	brief   shard.Description
	reading reading[shard.Row, rowItems]
}

// rowItems locates rows in descriptions and deltas.
type rowItems struct{}

func (rowItems) id(x *shard.Row) uint64                      { return x.ID }
func (rowItems) inPage(d *shard.Description) []shard.Row     { return d.Rows }
func (rowItems) inDelta(d *shard.Delta) []shard.Row          { return d.Rows }
func (rowItems) add(m *protocol.WatchSnapshot, x *shard.Row) { m.Rows.Append(rowOf(x)) }

// keep copies the bodies, because they are valid only until the page is reused. If room must grow and moves, earlier
// bodies stay in the old memory.
func (rowItems) keep(list []shard.Row, room []byte) []byte {
	for i := range list {
		from := len(room)
		room = append(room, list[i].Body...)
		list[i].Body = room[from:len(room):len(room)]
	}
	return room
}

func rowOf(x *shard.Row) protocol.Row { return protocol.Row{ID: x.ID, Body: x.Body} }

func (r *rows) snapshot(t *topic) *snapshot { return snapshotOf(r.worker, &r.reading, t) }

// encodeWhole leaves everything to a snapshot: every watch of a view wants the rows.
func (r *rows) encodeWhole(_ *topic, n *update, _ wants) { n.kind = updateWhole }

func (r *rows) encodeChanges(t *topic, c *change, n *update, _ wants) {
	m := r.worker.beginDelta(c, n)
	if c.delta.DataChanged {
		n.kind = updateFrame
		m.DataChanged, m.Data = true, protocol.View(c.delta.Data)
	}
	if count := len(c.delta.Gone) + len(c.delta.Rows); count > 0 {
		n.kind = updateFrame
		if count > longDelta && r.fewerThan(t, count) || !r.list(m, &c.delta) {
			n.kind = updateWhole
		}
	}
	r.worker.endDelta(n)
}

// fewerThan reports whether the view has fewer than count rows.
func (r *rows) fewerThan(t *topic, count int) bool {
	d := &r.brief
	defer func() { clear(d.Rows) }()
	return r.worker.hub.machine.Describe(t.ref(), shard.DescribeOptions{Rows: true, Limit: count}, d) &&
		!d.More && len(d.Rows) < count
}

// list fills the frame's lists, and reports whether the rows fit.
func (r *rows) list(m *protocol.WatchDelta, d *shard.Delta) bool {
	listGone(m, d)
	for i := range d.Rows {
		if m.Rows.Size() >= r.worker.hub.options.PageBytes {
			return false
		}
		m.Rows.Append(rowOf(&d.Rows[i]))
	}
	return true
}
