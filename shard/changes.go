package shard

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

	Bodies []byte // the memory of Rows
}

// MaxRowBytes is from how many bytes of rows on a page ends, and a delta is no delta any more.
const MaxRowBytes = 256 << 10
