package protocol

// ObjectKind says of which kind a named object is. Names are shared by all kinds of a node: one name, one object.
type ObjectKind uint8

// The kinds of objects. Where a message has a kind that may be left out, 0 stands for a semaphore too.
const (
	ObjectSemaphore ObjectKind = 1
	ObjectRollout   ObjectKind = 2
	ObjectProcess   ObjectKind = 4
)

// IsSemaphore reports whether the kind is that of semaphores, left out or not.
func (k ObjectKind) IsSemaphore() bool { return k == 0 || k == ObjectSemaphore }

// String returns the kind as the docs write it, or its number where it is not known here.
func (k ObjectKind) String() string {
	return nameOf(k, "OBJECT_KIND", "SEMAPHORE", "SEMAPHORE", "ROLLOUT", "OBJECT_KIND_3", "PROCESS")
}

// Rows is a list of rows.
type Rows = List[Row, *Row]

// Row is one of the things that an object of a kind other than semaphores consists of, beside its head. What its body
// says is the kind's own; nothing between the machine and the reader of the kind looks into it.
type Row struct {
	ID   uint64 // never of another row of the same object
	Body []byte
}

func (r *Row) item(c *codec) { c.record("", r.fields) }

func (r *Row) fields(c *codec) {
	c.uint("id", &r.ID)
	c.data("body", &r.Body)
}

// Existence says whether an object, or the part of it that is watched, came or went between two revisions.
type Existence uint8

const (
	// ExistenceSame: it exists as before, or is missing as before.
	ExistenceSame Existence = 0
	// ExistenceCreated: it is a new one, though one of that name may have gone in between. The view is
	// cleared: what it showed before belongs to no semaphore that exists.
	ExistenceCreated Existence = 1
	// ExistenceDeleted: it is gone, and the view is cleared.
	ExistenceDeleted Existence = 2
)

// String returns the change as the docs write it, or its number where it is not known here.
func (e Existence) String() string {
	return nameOf(e, "EXISTENCE", "SAME", "CREATED", "DELETED")
}
