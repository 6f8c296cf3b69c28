package protocol

// Watch opens a streaming watch: the state of a semaphore, or the changes since a revision, and then
// every change. What comes carries the id of this request. The name need not exist.
type Watch struct {
	NodeID uint64
	Name   []byte
	// Since is the revision that the client's view has; 0 for none, which begins with a snapshot.
	Since uint64
	// Owners and Data say what is wanted besides the semaphore's existence.
	Owners bool
	Data   bool
}

// Kind returns KindWatch.
func (*Watch) Kind() Kind { return KindWatch }

func (m *Watch) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("since", &m.Since)
	c.bool("owners", &m.Owners)
	c.bool("data", &m.Data)
}

// WatchAnswer answers a Watch. It comes before everything that is pushed for the watch.
type WatchAnswer struct{}

// Kind returns the kind of the answer to a Watch.
func (*WatchAnswer) Kind() Kind { return KindWatch.Answer() }

func (*WatchAnswer) answerFields(*codec) {}

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
