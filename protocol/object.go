package protocol

// ObjectKind is the kind of a named object. All kinds of a node share the names: one name, one object.
type ObjectKind uint8

// The kinds of objects. In a message that may leave the kind out, 0 stands for a semaphore too.
const (
	ObjectSemaphore ObjectKind = 1
	ObjectRollout   ObjectKind = 2
	ObjectProcess   ObjectKind = 4
)

// IsSemaphore reports whether the kind is a semaphore, left out or not.
func (k ObjectKind) IsSemaphore() bool { return k == 0 || k == ObjectSemaphore }

// String returns the kind as the docs write it, or the number of an unknown kind.
func (k ObjectKind) String() string {
	return nameOf(k, "OBJECT_KIND", "SEMAPHORE", "SEMAPHORE", "ROLLOUT", "OBJECT_KIND_3", "PROCESS")
}

// SectionRequest asks for a section of an object: the section's overview, and a page of the section's rows.
type SectionRequest struct {
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Section is a view, or a section without watches: see the kind of the object.
	Section []byte `wire:"text MaxViewBytes"`
	// After is the Next of the page before; 0 for the first.
	After uint64
	// Limit is the most rows that the page may have; 0 leaves the choice to the host.
	Limit uint64
	// Explain asks why the object does not move. The host then looks at every session that takes part.
	Explain     bool
	Consistency Consistency
	// Generation is the highest generation of the object's slot known to the client; see Moved.
	Generation uint64
}

// ListRequest asks one shard for the objects of a kind and a node whose names begin with Prefix, ordered by name.
type ListRequest struct {
	NodeID  uint64
	ShardID uint64
	Prefix  []byte `wire:"text MaxNameBytes"`
	// After is the Next of the page before; empty for the first page.
	After []byte `wire:"text MaxNameBytes"`
	// Limit is the most objects that the page may have; 0 leaves the choice to the host.
	Limit       uint64
	Consistency Consistency
}

// Rows is a list of rows.
type Rows = List[Row, *Row]

// Row is a part of an object other than a semaphore, beside the overview of the object. Only the kind of the object
// knows the form of the body; nothing between the machine and the reader of the kind looks into the body.
type Row struct {
	ID   uint64 // unique in the object, for ever
	Body []byte `wire:"data"`
}

// Existence says whether an object, or the watched section of an object, came or went between two revisions.
type Existence uint8

const (
	// ExistenceSame: the object exists as before, or is missing as before.
	ExistenceSame Existence = 0
	// ExistenceCreated: the object is new, though an older object of the name may have gone in between. The view is
	// cleared, because its content belongs to no semaphore that exists.
	ExistenceCreated Existence = 1
	// ExistenceDeleted: the object is gone, and the view is cleared.
	ExistenceDeleted Existence = 2
)

// String returns the change as the docs write it, or the number of an unknown change.
func (e Existence) String() string {
	return nameOf(e, "EXISTENCE", "SAME", "CREATED", "DELETED")
}
