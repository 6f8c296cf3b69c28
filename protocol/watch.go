package protocol

// Watch opens a streaming watch: first the state of an object, or of a section of an object, or the changes since a
// revision, and then every change. The pushes have the id of this request. The name need not exist.
type Watch struct {
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Since is the revision of the client's view; 0 for no view, which begins with a snapshot.
	Since uint64
	// Owners and Data ask for more than a semaphore's existence. For other kinds the flags mean nothing.
	Owners bool
	Data   bool
	// ObjectKind is the kind of the object; 0 stands for a semaphore. A host that does not know this field watches a
	// semaphore, whatever the field says: the answer has the watched kind.
	ObjectKind ObjectKind
	// View is the wanted section of the object; empty for the whole. Each kind has its own views. A view that does not
	// exist is as an object that does not exist.
	View []byte `wire:"text MaxViewBytes"`
	// Generation is the highest generation of the object's slot known to the client; see Moved.
	Generation uint64
}

// WatchAnswer answers a Watch. The answer comes before everything that is pushed for the watch.
type WatchAnswer struct {
	// ObjectKind is the watched kind, as in the request.
	ObjectKind ObjectKind
}

// WatchStop ends a streaming watch of this connection. Nothing is pushed for the watch after the answer.
type WatchStop struct {
	// WatchID is the id of the request that opened the watch.
	WatchID uint64
}

// WatchStopAnswer answers a WatchStop.
type WatchStopAnswer struct{}

// WatchEnd is pushed with the id of a watch when the host ends the watch. Where the status is worth a retry, the client
// opens the watch again with the revision of its view.
type WatchEnd struct {
	Result Result
}

// WatchSnapshot is pushed with the id of a watch: one page of the watched state. The first page begins a new view, and
// the last page puts the new view in the place of the old view.
type WatchSnapshot struct {
	// Revision is the same on all pages of a snapshot.
	Revision uint64
	First    bool
	Last     bool
	// The fields from Exists to Data are on the first page only. Ephemeral and Limit are of semaphores. Data is the
	// overview of an object of another kind, in the kind's own form.
	Exists    bool
	Ephemeral bool
	Limit     uint64
	Data      []byte `wire:"data"`
	// Owners are the owners of a semaphore, ordered by order id, through all pages.
	Owners Owners
	// Rows are the rows of an object of another kind, ordered by id, through all pages.
	Rows Rows
}

// WatchDelta is pushed with the id of a watch: the way from the state at revision From, or at any revision between the
// two, to the state at revision To. The delta has the state of things at the end, not the events in between. A client
// with a view of To, or later, ignores the delta. A client with a view before From has missed changes, and opens the
// watch again.
type WatchDelta struct {
	From uint64
	To   uint64
	// Existence is applied first, then the rest in the order of the fields.
	Existence Existence
	// DataChanged: Data replaces the data of the view, or the overview of an object of another kind.
	DataChanged bool
	Data        []byte `wire:"data"`
	// Gone are the order ids of the owners that left, or the ids of the rows that went.
	Gone OrderIDs
	// Joined are the owners that came, and owners with a new count or new data.
	Joined Owners
	// Ephemeral and Limit are of a created semaphore. Limit, if not 0, is also the new limit of a semaphore that
	// existed before.
	Ephemeral bool
	Limit     uint64
	// Rows are the rows that came or changed, in their new form, of an object of another kind.
	Rows Rows
}

// OrderIDs is a list of order ids, or of ids of rows.
type OrderIDs = List[OrderID, *OrderID]

// OrderID is an order id, or the id of a row, as an item of a list.
type OrderID uint64

// ShardOfOrder returns the id of the shard that gave an order id: its lower 10 bits.
func ShardOfOrder(order uint64) uint64 { return order & (1<<10 - 1) }

func (o *OrderID) item(c *codec) { c.uint("", (*uint64)(o)) }

// WatchResync is pushed with the id of a watch that could not keep up: the host leaves changes out, and a snapshot
// follows. Until the first page of the snapshot the client's view stays at its last revision.
type WatchResync struct{}
