package shard

import "github.com/signalbox/signalbox/shard/internal/arena"

// Ref names the subject of a watch or a description: an object of a kind, or a view of the object.
type Ref struct {
	Kind ObjectKind
	Node NodeID
	Name string
	View string // a part of the object, in the kind's own words; empty for the whole object
}

// Row is one row of a view of an object. The id of a row is never used again within the view.
type Row struct {
	ID   uint64
	Body []byte // in the encoding of its kind
}

// DeltaKind says how the changes of an object since a revision can be reported.
type DeltaKind uint8

const (
	// DeltaNone: nothing changed.
	DeltaNone DeltaKind = 0
	// DeltaChanges: the Delta holds the changes.
	DeltaChanges DeltaKind = 1
	// DeltaSnapshot: the history does not reach back so far, or too much changed: describe it anew.
	DeltaSnapshot DeltaKind = 2
	// DeltaAbsent: the shard has no object of the kind and name now, or the object has no such view.
	DeltaAbsent DeltaKind = 3
	// DeltaBehind: the replica has not seen the revision yet.
	DeltaBehind DeltaKind = 4
)

// Delta has the changes of an object, or of a view, between two revisions, all changes merged into one. A semaphore
// has Data, Limit and Joined; a view of any other kind has Rows, and its head as Data.
type Delta struct {
	To          Revision // the revision after the changes; for DeltaAbsent the revision of the shard
	DataChanged bool
	Data        string
	Limit       uint64     // the new limit, or zero
	Joined      []LinkView // new and changed owners, in their present form, by order id
	Rows        []Row      // new and changed rows, in their present form, by id; good until d is used again
	Gone        []OrderID  // ids of owners or rows that are gone; some may have come and gone in between

	bodies []byte // the memory of Rows
}

// MaxRowBytes is from how many bytes of rows on a page ends, and a delta is no delta any more.
const MaxRowBytes = 256 << 10

// Changes fills d with the changes after a revision that was read before, and reuses the memory of d.
func (m *Machine) Changes(r Ref, since Revision, d *Delta) DeltaKind {
	*d = Delta{Joined: d.Joined[:0], Rows: d.Rows[:0], Gone: d.Gone[:0], bodies: d.bodies[:0]}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if since > m.lastRevision {
		return DeltaBehind
	}
	h, v, ok := m.lookUp(&r)
	if !ok {
		d.To = m.lastRevision
		return DeltaAbsent
	}
	d.To = v.revision
	if since >= v.revision {
		return DeltaNone
	}
	// At first Gone holds all changed rows.
	if d.Gone, ok = m.history.rowsSince(v.track, since, d.Gone); !ok {
		return DeltaSnapshot
	}
	if !m.kinds[r.Kind].changes(m, h, v, since, d) {
		d.Joined, d.Rows, d.Gone = d.Joined[:0], d.Rows[:0], d.Gone[:0]
		return DeltaSnapshot
	}
	return DeltaChanges
}

// lookUp finds an object and a view of the object. It returns false if either is missing, or if the object is
// deleted.
func (m *Machine) lookUp(r *Ref) (object arena.Handle, v view, ok bool) {
	if r.Kind >= MaxKinds || m.kinds[r.Kind] == nil {
		return 0, view{}, false
	}
	var buf [128]byte
	if object = m.objects.alive(r.Kind, r.Node, append(buf[:0], r.Name...)); object == 0 {
		return 0, view{}, false
	}
	v, ok = m.kinds[r.Kind].view(m, object, r.View)
	return object, v, ok
}
