package protocol

// Watch opens a streaming watch: first the state of an object or section, or the changes since a revision, and then
// every change. The pushes have this request's id. The name need not exist.
type Watch struct {
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Since is the revision of the client's view; 0 if the client has no view, which then begins with a snapshot.
	Since uint64
	// Owners and Data ask for more than a semaphore's existence. For other kinds the flags are ignored.
	Owners bool
	Data   bool
	// ObjectKind is the object's kind; 0 means a semaphore. A host that does not know this field watches a semaphore,
	// whatever the field's value: the answer has the watched kind.
	ObjectKind ObjectKind
	// View is the requested object section; empty for the whole object. Each kind defines its views. A missing view is
	// treated like a missing object.
	View []byte `wire:"text MaxViewBytes"`
	// Generation is the highest generation known to the client for the object's slot; see Moved.
	Generation uint64
}

// WatchAnswer answers a Watch. The answer precedes all pushes for the watch.
type WatchAnswer struct {
	// ObjectKind is the watched kind, as in the request.
	ObjectKind ObjectKind
}

// WatchStop ends a streaming watch on this connection. Nothing is pushed for the watch after the answer.
type WatchStop struct {
	// WatchID is the id of the request that opened the watch.
	WatchID uint64
}

// WatchStopAnswer answers a WatchStop.
type WatchStopAnswer struct{}

// WatchEnd is pushed with a watch's id when the host ends the watch. If the status allows a retry, the client opens the
// watch again with its view's revision.
type WatchEnd struct {
	Result Result
}

// WatchSnapshot is pushed with a watch's id: one page of the watched state. The first page begins a new view, and the
// last page replaces the old view by the new view.
type WatchSnapshot struct {
	// Revision is equal on all pages in a snapshot.
	Revision uint64
	First    bool
	Last     bool
	// The fields from Exists to Data are on the first page only. Ephemeral and Limit are for semaphores. Data is the
	// overview of an object of another kind, in the kind's own encoding.
	Exists    bool
	Ephemeral bool
	Limit     uint64
	Data      []byte `wire:"data"`
	// Owners are a semaphore's owners, sorted by order id, over all pages.
	Owners Owners
	// Rows are the rows of an object of another kind, sorted by id, over all pages.
	Rows Rows
}

// WatchDelta is pushed with a watch's id: the changes from the state at revision From, or at any revision between the
// two, to the state at revision To. The delta has the final state, not the events in between. A client with a view at
// To, or later, ignores the delta. A client with a view before From has missed changes, and opens the watch again.
type WatchDelta struct {
	From uint64
	To   uint64
	// Existence is applied first, then the rest in field order.
	Existence Existence
	// DataChanged is set if Data replaces the view's data, or the overview of an object of another kind.
	DataChanged bool
	Data        []byte `wire:"data"`
	// Gone are the order ids of owners that left, or the ids of deleted rows.
	Gone OrderIDs
	// Joined are new owners, and owners with a new count or new data.
	Joined Owners
	// Ephemeral and Limit are for a created semaphore. Limit, if not 0, is also an existing semaphore's new limit.
	Ephemeral bool
	Limit     uint64
	// Rows are new or changed rows, as they are now, for an object of another kind.
	Rows Rows
}

// OrderIDs is a list of order ids, or of row ids.
type OrderIDs = List[OrderID, *OrderID]

// OrderID is an order id, or a row id, as a list item.
type OrderID uint64

// ShardOfOrder returns the id of the shard that issued an order id: its lower 10 bits.
func ShardOfOrder(order uint64) uint64 { return order & (1<<10 - 1) }

func (o *OrderID) item(c *codec) { c.uint("", (*uint64)(o)) }

// WatchResync is pushed with the id of a watch that could not keep up: the host omits changes, and a snapshot follows.
// Until the snapshot's first page the client's view stays at its last revision.
type WatchResync struct{}
