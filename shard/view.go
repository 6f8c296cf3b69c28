package shard

import "github.com/signalbox/signalbox/shard/internal/arena"

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
	head Revision // of the last change of the head
}

// newView returns the track of a new view; the next call of changed for the object makes the view visible. A view
// from a snapshot gets the track of restoredView.
func (m *Machine) newView() viewTrack { return restoredView(m.lastRevision + 1) }

// restoredView returns the track of a view whose changes are known from a revision on.
func restoredView(at Revision) viewTrack {
	return viewTrack{track: track{revision: at, base: at}, head: at}
}

// headChanged and rowChanged note a change. The next call of changed for the view's object will report the change.

func (m *Machine) headChanged(v *viewTrack) {
	v.head = m.lastRevision + 1
	v.revision = v.head
}

func (m *Machine) rowChanged(v *viewTrack, row uint64) {
	m.recordRowChange(&v.track, OrderID(row))
	v.revision = v.newestAt
}

// rowKind is a kind with views of a head and rows.
type rowKind interface {
	// appendHead appends the head of a view. appendRow appends a row of a view, and returns false for a missing row.
	appendHead(dst []byte, m *Machine, object arena.Handle, v view) []byte
	appendRow(dst []byte, m *Machine, object arena.Handle, v view, row uint64) (_ []byte, ok bool)
	// nextRow returns the first row behind an id.
	nextRow(m *Machine, object arena.Handle, v view, after uint64) (row uint64, ok bool)
}

// describeRows is the method describe of a kind with rows.
func describeRows(k rowKind, m *Machine, object arena.Handle, v view, o *DescribeOptions, d *Description) {
	d.bodies = k.appendHead(d.bodies, m, object, v)
	d.Data = string(d.bodies)
	d.bodies = d.bodies[:0]
	if !o.Rows {
		return
	}
	limit := pageLimit(o.Limit)
	for at, more := k.nextRow(m, object, v, uint64(o.After)); more; at, more = k.nextRow(m, object, v, at) {
		if len(d.Rows) == limit || len(d.bodies) >= MaxRowBytes {
			d.More = true
			return
		}
		d.Rows, d.bodies, _ = appendRow(k, m, object, v, at, d.Rows, d.bodies)
	}
}

// changeRows is the method changes of a kind with rows.
func changeRows(k rowKind, m *Machine, object arena.Handle, v view, head Revision, since Revision, d *Delta) bool {
	if head > since {
		d.bodies = k.appendHead(d.bodies, m, object, v)
		d.DataChanged, d.Data = true, string(d.bodies)
		d.bodies = d.bodies[:0]
	}
	gone := d.Gone[:0]
	for _, row := range d.Gone {
		var is bool
		if d.Rows, d.bodies, is = appendRow(k, m, object, v, uint64(row), d.Rows, d.bodies); !is {
			gone = append(gone, row)
		}
		if len(d.bodies) > MaxRowBytes {
			return false
		}
	}
	d.Gone = gone
	return true
}

// appendRow appends a row, and its body to bodies. If bodies moves to new memory, earlier rows keep their bytes.
func appendRow(k rowKind, m *Machine, object arena.Handle, v view, row uint64, rows []Row, bodies []byte) ([]Row, []byte,
	bool) {
	from := len(bodies)
	bodies, ok := k.appendRow(bodies, m, object, v, row)
	if !ok {
		return rows, bodies[:from], false
	}
	return append(rows, Row{ID: row, Body: bodies[from:len(bodies):len(bodies)]}), bodies, true
}
