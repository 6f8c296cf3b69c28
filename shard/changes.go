package shard

// Ref names what is watched or described: an object, or one of its views.
type Ref struct {
	Kind ObjectKind
	Node NodeID
	Name string
	View string // an object part, named by the kind; empty for the whole object
}

// Row is one row in an object's view. Row ids are never reused within the view.
type Row struct {
	ID   uint64
	Body []byte // in the kind's encoding
}

// DeltaKind is how an object's changes since a revision can be reported.
type DeltaKind uint8

const (
	// DeltaNone: nothing changed.
	DeltaNone DeltaKind = 0
	// DeltaChanges: the Delta holds the changes.
	DeltaChanges DeltaKind = 1
	// DeltaSnapshot: the history does not reach back that far, or too much changed: read the whole object.
	DeltaSnapshot DeltaKind = 2
	// DeltaAbsent: the shard now has no object with the kind and name, or the object has no such view.
	DeltaAbsent DeltaKind = 3
	// DeltaBehind: the replica has not seen the revision yet.
	DeltaBehind DeltaKind = 4
	// DeltaAway: the object's slot is not in the shard.
	DeltaAway DeltaKind = 5
)

// Delta has the changes to an object, or to a view, between two revisions, merged into one. A semaphore has Data, Limit
// and Joined; a view for any other kind has Rows, and its head as Data.
type Delta struct {
	To          Revision // the revision after the changes; for DeltaAbsent the shard's revision
	DataChanged bool
	Data        string
	Limit       uint64     // the new limit, or zero
	Joined      []LinkView // new and changed owners as they are now, by order id
	Rows        []Row      // new and changed rows as they are now, by id; valid until d is reused
	Gone        []OrderID  // ids of owners or rows that are gone; some may have come and gone in between

	Bodies []byte // memory for Rows
}

// MaxRowBytes is the total row size from which a page ends, and from which a snapshot replaces a delta.
const MaxRowBytes = 256 << 10
