package machinetest

import (
	"fmt"
	"maps"

	"github.com/signalbox/signalbox/shard"
)

// RowFollower maintains a view of an object by deltas, like a watcher.
type RowFollower struct {
	Ref      shard.Ref
	exists   bool
	revision shard.Revision
	head     string
	rows     map[uint64]string
}

// pages reads a view in small pages.
func (f *RowFollower) pages(m Machine) (exists bool) {
	f.rows = map[uint64]string{}
	var d shard.Description
	o := shard.DescribeOptions{Rows: true, Limit: 2}
	for first := true; first || d.More; first = false {
		if !m.Describe(f.Ref, o, &d) {
			return false
		}
		f.head, f.revision = d.Data, d.Revision
		for _, r := range d.Rows {
			f.rows[r.ID] = string(r.Body)
			o.After = shard.OrderID(r.ID)
		}
	}
	return true
}

// CatchUp applies the changes, and compares the view with a new reader's view.
func (f *RowFollower) CatchUp(m Machine) error {
	var d shard.Delta
	switch kind := m.Changes(f.Ref, f.revision, &d); kind {
	case shard.DeltaNone:
	case shard.DeltaAbsent:
		f.exists, f.revision, f.head, f.rows = false, d.To, "", nil
	case shard.DeltaSnapshot:
		f.exists = f.pages(m)
	case shard.DeltaChanges:
		f.revision = d.To
		if d.DataChanged {
			f.head = d.Data
		}
		for _, row := range d.Gone {
			delete(f.rows, uint64(row))
		}
		for _, r := range d.Rows {
			f.rows[r.ID] = string(r.Body)
		}
	default:
		return fmt.Errorf("%+v since %d: kind %d", f.Ref, f.revision, kind)
	}
	now := RowFollower{Ref: f.Ref}
	if now.exists = now.pages(m); now.exists != f.exists || now.head != f.head ||
		now.exists && (now.revision != f.revision || !maps.Equal(now.rows, f.rows)) {
		return fmt.Errorf("%+v is %+v and was followed to %+v", f.Ref, now, *f)
	}
	return nil
}
