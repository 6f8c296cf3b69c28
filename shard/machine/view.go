package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// A view is a part of an object that is watched by itself. The view has a revision and a history of its own, apart
// from changes of other parts. It shows a head, which is sent as a whole, and rows, which are sent one by one. The
// view with the empty name is the whole object.

// view is a view during a read.
type view struct {
	*track
	number uint32 // the kind's number of the view
}

// viewTrack is the state of a view in its kind.
type viewTrack struct {
	track
	head shard.Revision // of the last change of the head
}

// NewView returns the track of a new view; the next call of changed for the object makes the view visible. A view
// from a snapshot gets the track of restoredView.
func (hi *History) NewView() viewTrack { return restoredView(hi.core.lastRevision + 1) }

// restoredView returns the track of a view whose changes are known from a revision on.
func restoredView(at shard.Revision) viewTrack {
	return viewTrack{track: track{revision: at, base: at}, head: at}
}

// HeadChanged and RowChanged note a change. The next call of Changed for the view's object will report the change.

// HeadChanged notes a change of the head of a view.
func (hi *History) HeadChanged(v *viewTrack) {
	v.head = hi.core.lastRevision + 1
	v.revision = v.head
}

// RowChanged notes a change of a row of a view.
func (hi *History) RowChanged(v *viewTrack, row uint64) {
	hi.record(&v.track, shard.OrderID(row))
	v.revision = v.newestAt
}

// rowKind is a kind with views of a head and rows.
type rowKind interface {
	// appendHead appends the head of a view. appendRow appends a row of a view, and returns false for a missing row.
	appendHead(dst []byte, m *Core, object arena.Handle, v view) []byte
	appendRow(dst []byte, m *Core, object arena.Handle, v view, row uint64) (_ []byte, ok bool)
	// nextRow returns the first row behind an id.
	nextRow(m *Core, object arena.Handle, v view, after uint64) (row uint64, ok bool)
}

// describeRows is the method describe of a kind with rows.
func describeRows(k rowKind, m *Core, object arena.Handle, v view, o described, d *shard.Description) {
	d.Bodies = k.appendHead(d.Bodies, m, object, v)
	d.Data = string(d.Bodies)
	d.Bodies = d.Bodies[:0]
	if !o.Rows {
		return
	}
	limit := pageLimit(o.Limit)
	for at, more := k.nextRow(m, object, v, uint64(o.After)); more; at, more = k.nextRow(m, object, v, at) {
		if len(d.Rows) == limit || len(d.Bodies) >= shard.MaxRowBytes {
			d.More = true
			return
		}
		d.Rows, d.Bodies, _ = appendRow(k, m, object, v, at, d.Rows, d.Bodies)
	}
}

// changeRows is the method changes of a kind with rows.
func changeRows(k rowKind, m *Core, object arena.Handle, v view, head shard.Revision, since shard.Revision,
	d *shard.Delta) bool {
	if head > since {
		d.Bodies = k.appendHead(d.Bodies, m, object, v)
		d.DataChanged, d.Data = true, string(d.Bodies)
		d.Bodies = d.Bodies[:0]
	}
	gone := d.Gone[:0]
	for _, row := range d.Gone {
		var is bool
		if d.Rows, d.Bodies, is = appendRow(k, m, object, v, uint64(row), d.Rows, d.Bodies); !is {
			gone = append(gone, row)
		}
		if len(d.Bodies) > shard.MaxRowBytes {
			return false
		}
	}
	d.Gone = gone
	return true
}

// appendRow appends a row, and its body to bodies. If bodies moves to new memory, earlier rows keep their bytes.
func appendRow(k rowKind, m *Core, object arena.Handle, v view, row uint64, rows []shard.Row,
	bodies []byte) ([]shard.Row, []byte, bool) {
	from := len(bodies)
	bodies, ok := k.appendRow(bodies, m, object, v, row)
	if !ok {
		return rows, bodies[:from], false
	}
	return append(rows, shard.Row{ID: row, Body: bodies[from:len(bodies):len(bodies)]}), bodies, true
}

// actsPart is the part with the acts of operators.
const actsPart = "acts"

// DescribePart fills a page with a view.
func (co *Core) DescribePart(p *shard.PartPage, object arena.Handle, v view, o *shard.PartOptions) {
	var of shard.Description
	co.kinds[co.Objects.At(object).kind].describe(co, object, v,
		described{DescribeOptions: shard.DescribeOptions{Rows: true, After: shard.OrderID(o.After), Limit: o.Limit}},
		&of)
	p.Revision, p.Head, p.Rows, p.More = v.revision, []byte(of.Data), of.Rows, of.More
}

// fillPart appends a page of count rows that stand in the order of their numbers.
func fillPart(p *shard.PartPage, o *shard.PartOptions, count int, row func(k int) (uint64, field.Value)) {
	limit, bytes := pageLimit(o.Limit), 0
	for k := range count {
		number, r := row(k)
		if number <= o.After {
			continue
		}
		if len(p.Rows) == limit || bytes >= shard.MaxRowBytes {
			p.More = true
			return
		}
		body := protocol.AppendRecord(nil, r)
		bytes += len(body)
		p.Rows = append(p.Rows, shard.Row{ID: number, Body: body})
	}
}
