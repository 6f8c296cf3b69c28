package protocol

// WatchSnapshot is pushed with the id of a watch: one page of the semaphore's state. The first page
// begins a new view, and the last one puts it in the place of the old.
type WatchSnapshot struct {
	// Revision is the same on all pages of a snapshot.
	Revision uint64
	First    bool
	Last     bool
	// Exists and what follows up to Data is on the first page only.
	Exists    bool
	Ephemeral bool
	Limit     uint64
	Data      []byte
	// Owners are ordered by order id, through all pages.
	Owners Owners
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
}

// WatchDelta is pushed with the id of a watch: what leads from the state of one revision, or of any
// between the two, to that of another. It says how things are at the end, not what happened in between.
// A client whose view is of To, or later, leaves it out. One whose view is earlier than From has missed
// something, and opens the watch again.
type WatchDelta struct {
	From uint64
	To   uint64
	// Existence is applied first, then the rest in the order of the fields.
	Existence Existence
	// DataChanged: Data replaces the data of the view.
	DataChanged bool
	Data        []byte
	// Gone are the order ids of the owners that left.
	Gone OrderIDs
	// Joined are the owners that came, and those whose count or data changed.
	Joined Owners
	// Ephemeral and Limit are those of a semaphore that was created. Limit, if it is not 0, is the limit of one that was
	// there too: it was changed.
	Ephemeral bool
	Limit     uint64
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
}

// OrderIDs is a list of order ids.
type OrderIDs = List[OrderID, *OrderID]

// OrderID is an order id, as an item of a list.
type OrderID uint64

func (id *OrderID) item(c *codec) { c.uint("", (*uint64)(id)) }

// WatchResync is pushed with the id of a watch that could not keep up: changes are being left out, and a
// snapshot follows. Until its first page comes the client's view is of its last revision.
type WatchResync struct{}

// Kind returns KindWatchResync.
func (*WatchResync) Kind() Kind { return KindWatchResync }

func (*WatchResync) pushFields(*codec) {}
