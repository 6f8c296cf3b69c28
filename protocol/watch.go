package protocol

// Watch opens a streaming watch: the state of an object, or of a part of it, or the changes since a revision, and then
// every change. What comes carries the id of this request. The name need not exist.
type Watch struct {
	NodeID uint64
	Name   []byte
	// Since is the revision that the client's view has; 0 for none, which begins with a snapshot.
	Since uint64
	// Owners and Data say what is wanted besides a semaphore's existence. They mean nothing for other kinds.
	Owners bool
	Data   bool
	// ObjectKind is the kind of the object; 0 stands for a semaphore. A host that does not know this field watches a
	// semaphore whatever is asked for: the answer says what is watched.
	ObjectKind ObjectKind
	// View is the part of the object that is wanted; empty for the whole. Each kind says which views it has. A view
	// that does not exist is as an object that does not exist.
	View []byte
}

// Kind returns KindWatch.
func (*Watch) Kind() Kind { return KindWatch }

func (m *Watch) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("since", &m.Since)
	c.bool("owners", &m.Owners)
	c.bool("data", &m.Data)
	enum(c, "object_kind", &m.ObjectKind)
	c.text("view", &m.View, MaxViewBytes)
}

// WatchAnswer answers a Watch. It comes before everything that is pushed for the watch.
type WatchAnswer struct {
	// ObjectKind is the kind that is watched, as it was asked for.
	ObjectKind ObjectKind
}

// Kind returns the kind of the answer to a Watch.
func (*WatchAnswer) Kind() Kind { return KindWatch.Answer() }

func (m *WatchAnswer) answerFields(c *codec) {
	enum(c, "object_kind", &m.ObjectKind)
}

// WatchStop ends a streaming watch of this connection. Nothing is pushed for it after the answer.
type WatchStop struct {
	// WatchID is the id of the request that opened the watch.
	WatchID uint64
}

// Kind returns KindWatchStop.
func (*WatchStop) Kind() Kind { return KindWatchStop }

func (m *WatchStop) requestFields(c *codec) {
	c.uint("watch_id", &m.WatchID)
}

// WatchStopAnswer answers a WatchStop.
type WatchStopAnswer struct{}

// Kind returns the kind of the answer to a WatchStop.
func (*WatchStopAnswer) Kind() Kind { return KindWatchStop.Answer() }

func (*WatchStopAnswer) answerFields(*codec) {}

// WatchEnd is pushed with the id of a watch when the host ends it. Where the status is worth a retry, the
// client opens the watch again with the revision it has.
type WatchEnd struct {
	Result Result
}

// Kind returns KindWatchEnd.
func (*WatchEnd) Kind() Kind { return KindWatchEnd }

func (m *WatchEnd) pushFields(c *codec) {
	c.result(&m.Result)
}

// WatchSnapshot is pushed with the id of a watch: one page of the state that is watched. The first page
// begins a new view, and the last one puts it in the place of the old.
type WatchSnapshot struct {
	// Revision is the same on all pages of a snapshot.
	Revision uint64
	First    bool
	Last     bool
	// Exists and what follows up to Data is on the first page only. Ephemeral and Limit are of semaphores. Data is the
	// head of an object of another kind, in that kind's own form.
	Exists    bool
	Ephemeral bool
	Limit     uint64
	Data      []byte
	// Owners are those of a semaphore, ordered by order id, through all pages.
	Owners Owners
	// Rows are those of an object of another kind, ordered by id, through all pages.
	Rows Rows
}

// Kind returns KindWatchSnapshot.
func (*WatchSnapshot) Kind() Kind { return KindWatchSnapshot }

func (m *WatchSnapshot) pushFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.bool("first", &m.First)
	c.bool("last", &m.Last)
	c.bool("exists", &m.Exists)
	c.bool("ephemeral", &m.Ephemeral)
	c.uint("limit", &m.Limit)
	c.data("data", &m.Data)
	m.Owners.list(c, "owners")
	m.Rows.list(c, "rows")
}

// WatchDelta is pushed with the id of a watch: what leads from the state of one revision, or of any between the two, to
// that of another. It says how things are at the end, not what happened in between. A client whose view is of To, or
// later, leaves it out. One whose view is earlier than From has missed something, and opens the watch again.
type WatchDelta struct {
	From uint64
	To   uint64
	// Existence is applied first, then the rest in the order of the fields.
	Existence Existence
	// DataChanged: Data replaces the data of the view, or the head of an object of another kind.
	DataChanged bool
	Data        []byte
	// Gone are the order ids of the owners that left, or the ids of the rows that went.
	Gone OrderIDs
	// Joined are the owners that came, and those whose count or data changed.
	Joined Owners
	// Ephemeral and Limit are those of a semaphore that was created. Limit, if it is not 0, is the limit of one that
	// was there too: it was changed.
	Ephemeral bool
	Limit     uint64
	// Rows are those that came or changed, as they are now, of an object of another kind.
	Rows Rows
}

// Kind returns KindWatchDelta.
func (*WatchDelta) Kind() Kind { return KindWatchDelta }

func (m *WatchDelta) pushFields(c *codec) {
	c.uint("from", &m.From)
	c.uint("to", &m.To)
	enum(c, "existence", &m.Existence)
	c.bool("data_changed", &m.DataChanged)
	c.data("data", &m.Data)
	m.Gone.list(c, "gone")
	m.Joined.list(c, "joined")
	c.bool("ephemeral", &m.Ephemeral)
	c.uint("limit", &m.Limit)
	m.Rows.list(c, "rows")
}

// OrderIDs is a list of order ids, or of ids of rows.
type OrderIDs = List[OrderID, *OrderID]

// OrderID is an order id, or the id of a row, as an item of a list.
type OrderID uint64

func (o *OrderID) item(c *codec) { c.uint("", (*uint64)(o)) }

// WatchResync is pushed with the id of a watch that could not keep up: changes are being left out, and a
// snapshot follows. Until its first page comes the client's view is of its last revision.
type WatchResync struct{}

// Kind returns KindWatchResync.
func (*WatchResync) Kind() Kind { return KindWatchResync }

func (*WatchResync) pushFields(*codec) {}
