package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// A view is an object part that can be watched separately. A view has its own revision and change history. Its head is
// sent as a whole, its rows are sent individually. The view with the empty name is the whole object.

// View is an object's view during a read.
type View struct {
	*track
	Number uint32 // the kind's number for the view
}

// ViewTrack is the change tracking a kind stores for a view.
type ViewTrack struct {
	track
	Head shard.Revision // the head's last change
}

// NewView returns the track for a new view; the object's next Changed call makes the view visible. A view from a
// snapshot gets its track from RestoredView.
func (hi *History) NewView() ViewTrack { return RestoredView(hi.core.lastRevision + 1) }

// RestoredView returns the track for a view from a snapshot. Changes up to revision at are not in its history.
func RestoredView(at shard.Revision) ViewTrack {
	return ViewTrack{track: track{Revision: at, base: at}, Head: at}
}

// View returns the view for a read, under the kind's number.
func (v *ViewTrack) View(number uint32) View { return View{track: &v.track, Number: number} }

// RestoreAt is for a restored view with a row that changed after its head.
func (v *ViewTrack) RestoreAt(at shard.Revision) { v.Revision, v.base = at, at }

// HeadChanged and RowChanged note a change. The object's next Changed call reports it.

// HeadChanged notes that a view's head changed.
func (hi *History) HeadChanged(v *ViewTrack) {
	v.Head = hi.core.lastRevision + 1
	v.Revision = v.Head
}

// RowChanged notes that a row changed.
func (hi *History) RowChanged(v *ViewTrack, row uint64) {
	hi.record(&v.track, shard.OrderID(row))
	v.Revision = v.newestAt
}

// RowKind is a kind with views that have a head and rows.
type RowKind interface {
	// AppendHead appends a view's head. AppendRow appends a row, and returns false if the row is missing.
	AppendHead(dst []byte, m *Core, object arena.Handle, v View) []byte
	AppendRow(dst []byte, m *Core, object arena.Handle, v View, row uint64) (_ []byte, ok bool)
	// NextRow returns the first row behind an id.
	NextRow(m *Core, object arena.Handle, v View, after uint64) (row uint64, ok bool)
}

// DescribeRows implements Describe for a kind with rows.
func DescribeRows(k RowKind, m *Core, object arena.Handle, v View, o Described, d *shard.Description) {
	d.Bodies = k.AppendHead(d.Bodies, m, object, v)
	d.Data = string(d.Bodies)
	d.Bodies = d.Bodies[:0]
	if !o.Rows {
		return
	}
	limit := PageLimit(o.Limit)
	for at, more := k.NextRow(m, object, v, uint64(o.After)); more; at, more = k.NextRow(m, object, v, at) {
		if len(d.Rows) == limit || len(d.Bodies) >= shard.MaxRowBytes {
			d.More = true
			return
		}
		d.Rows, d.Bodies, _ = appendRow(k, m, object, v, at, d.Rows, d.Bodies)
	}
}

// ChangeRows implements Changes for a kind with rows.
func ChangeRows(k RowKind, m *Core, object arena.Handle, v View, head shard.Revision, since shard.Revision,
	d *shard.Delta) bool {
	if head > since {
		d.Bodies = k.AppendHead(d.Bodies, m, object, v)
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
func appendRow(k RowKind, m *Core, object arena.Handle, v View, row uint64, rows []shard.Row,
	bodies []byte) ([]shard.Row, []byte, bool) {
	from := len(bodies)
	bodies, ok := k.AppendRow(bodies, m, object, v, row)
	if !ok {
		return rows, bodies[:from], false
	}
	return append(rows, shard.Row{ID: row, Body: bodies[from:len(bodies):len(bodies)]}), bodies, true
}

// ActionsPart is the part with the operators' actions.
const ActionsPart = "actions"

// DescribePart fills a page with a view.
func (co *Core) DescribePart(p *shard.PartPage, object arena.Handle, v View, o *shard.PartOptions) {
	var of shard.Description
	co.kinds[co.Objects.At(object).Kind].Describe(co, object, v,
		Described{DescribeOptions: shard.DescribeOptions{Rows: true, After: shard.OrderID(o.After), Limit: o.Limit}},
		&of)
	p.Revision, p.Head, p.Rows, p.More = v.Revision, []byte(of.Data), of.Rows, of.More
}

// FillPart appends a page from count rows that are sorted by number.
func FillPart(p *shard.PartPage, o *shard.PartOptions, count int, row func(k int) (uint64, field.Value)) {
	limit, bytes := PageLimit(o.Limit), 0
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
