package shard

// Ref names what is watched and described: an object of a kind, or a view of it.
type Ref struct {
	Kind ObjectKind
	Node NodeID
	Name string
	View string // a part of the object, by the kind's own name for it; empty for all of it
}

// Row is one row of a view of an object. Its id is never used again for another row of the view.
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
	// DeltaAbsent: there is no object of that kind and name now, or it has no such view.
	DeltaAbsent DeltaKind = 3
	// DeltaBehind: this replica has not seen the revision yet.
	DeltaBehind DeltaKind = 4
)

// Delta is what changed of an object, or of a view of it, between two revisions, all changes merged into one. A
// semaphore has Data, Limit and Joined; a view of another kind has Data, which is its head, and Rows.
type Delta struct {
	To          Revision // the revision that it leads to; for DeltaAbsent that of the shard
	DataChanged bool
	Data        string
	Limit       uint64     // where it changed, else zero
	Joined      []LinkView // owners that are new or changed, as they are now, by order id
	Rows        []Row      // rows that are new or changed, as they are now, by id; good until d is used again
	Gone        []OrderID  // owners, or rows by their ids, that are no more; some may have come and gone in between

	bodies []byte // what Rows are views into
}

// MaxRowBytes is from how many bytes of rows on a page ends, and a delta is no delta any more.
const MaxRowBytes = 256 << 10

// Changes fills d, whose memory is used again, with what happened after a revision that was read before.
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
	// Gone holds all that changed at first.
	if d.Gone, ok = m.history.rowsSince(v.track, since, d.Gone); !ok {
		return DeltaSnapshot
	}
	if !m.kinds[r.Kind].changes(m, h, v, since, d) {
		d.Joined, d.Rows, d.Gone = d.Joined[:0], d.Rows[:0], d.Gone[:0]
		return DeltaSnapshot
	}
	return DeltaChanges
}

// lookUp finds an object and the view of it. It returns false where there is none, and where the object is deleted.
func (m *Machine) lookUp(r *Ref) (object handle, v view, ok bool) {
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
