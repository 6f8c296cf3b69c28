package protocol

// ObjectKind is a named object's kind. All kinds in a node share the names: one name, one object.
type ObjectKind uint8

// The object kinds. In a message that may omit the kind, 0 also means a semaphore.
const (
	ObjectSemaphore ObjectKind = 1
	ObjectRollout   ObjectKind = 2
	ObjectProcess   ObjectKind = 4
)

// IsSemaphore reports whether the kind is a semaphore, even if omitted.
func (k ObjectKind) IsSemaphore() bool { return k == 0 || k == ObjectSemaphore }

// String returns the kind as the docs write it, or the number if unknown.
func (k ObjectKind) String() string {
	return nameOf(k, "OBJECT_KIND", "SEMAPHORE", "SEMAPHORE", "ROLLOUT", "OBJECT_KIND_3", "PROCESS")
}

// SectionRequest asks for an object's section: its overview, and a page of its rows.
type SectionRequest struct {
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Section is a view, or a section that cannot be watched: see the object's kind.
	Section []byte `wire:"text MaxViewBytes"`
	// After is the previous page's Next; 0 for the first page.
	After uint64
	// Limit is the maximum number of rows on the page; 0 lets the host choose.
	Limit uint64
	// Explain asks why the object is stalled. The host then looks at every session that takes part.
	Explain     bool
	Consistency Consistency
	// Generation is the highest generation known to the client for the object's slot; see Moved.
	Generation uint64
}

// ListRequest asks for the node's objects with a kind and names that begin with Prefix, sorted by name.
type ListRequest struct {
	NodeID  uint64
	ShardID uint64
	Prefix  []byte `wire:"text MaxNameBytes"`
	// After is the previous page's Next; empty for the first page.
	After []byte `wire:"text MaxNameBytes"`
	// Limit is the maximum number of objects on the page; 0 lets the host choose.
	Limit       uint64
	Consistency Consistency
	ListSlots
}

// ListSlots selects the slots of a list's page. Slots may move from one shard to another between two pages, so a client
// asks for the next page by slots and not by shard.
type ListSlots struct {
	// Slots are the slots to list, in ascending order, without shards and generations. The shard of the first slot
	// answers. The answer lists the requested slots that this shard does not have. If Slots is empty, the page covers
	// all slots of the shard ShardID.
	Slots SlotRanges
	// Generation is the highest generation known to the client for the first slot; see Moved.
	Generation uint64
}

// ListMessage is a request for a page of a list.
type ListMessage interface {
	RequestMessage
	Listed() *ListSlots
}

// Listed returns the slots themselves: the sender of a ListMessage sets the generation there.
func (l *ListSlots) Listed() *ListSlots { return l }

// Rows is a list of rows.
type Rows = List[Row, *Row]

// Row is a part of an object other than a semaphore, beside the object's overview. Only the object's kind interprets
// the body; it is opaque to everything between the machine and the kind's reader.
type Row struct {
	ID   uint64 // unique in the object, never reused
	Body []byte `wire:"data"`
}

// Existence is whether an object, or its watched section, came or went between two revisions.
type Existence uint8

const (
	// ExistenceSame: the object exists as before, or is missing as before.
	ExistenceSame Existence = 0
	// ExistenceCreated: the object is new, though an older object with the name may have gone in between. The view is
	// cleared, because its content belongs to no existing object.
	ExistenceCreated Existence = 1
	// ExistenceDeleted: the object is gone, and the view is cleared.
	ExistenceDeleted Existence = 2
)

// String returns the change as the docs write it, or the number if unknown.
func (e Existence) String() string {
	return nameOf(e, "EXISTENCE", "SAME", "CREATED", "DELETED")
}
