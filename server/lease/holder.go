package lease

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Holder is one client connection as far as leases go. Sessions of several tables may be attached over a holder. The
// calls of the connection's event loop for every burst and every ping take no lock and allocate nothing.
//
// When a holder loses a session (the session is due, is attached over another connection, has ended, or the host
// leads its shard no more), the client has to be notified before the host may vouch for the connection again: until
// then the client cannot know that a pong does not speak of the lost session. So every loss is a debt, made by the
// table in one step with the loss and paid with Reported.
type Holder struct {
	// Owner is the connection as the server knows it. It is set before the holder is used.
	Owner any
	// Reader is the event loop that reads the connection together with others, and may stand still by itself; nil if
	// there is none. It is set before the holder is used.
	Reader Reader

	heard  atomic.Int64             // instant of the last burst of frames
	stood  atomic.Int64             // for how long the reader had stood still by then; set after heard, read before it
	debt   atomic.Int64             // losses that were not reported to the client
	tables atomic.Pointer[[]*Table] // the tables with sessions attached over the holder; the slice never changes

	mu     sync.Mutex // guards changes of tables, and closed; taken within a table's lock
	closed bool
}

// Reader reads connections: an event loop.
type Reader interface {
	// Latest returns when the reader last had read everything that its connections had sent, and for how long the
	// reader had stood still by then, all standstills together. Any goroutine may call Latest.
	Latest() (last time.Time, stood time.Duration)
}

// NewHolder returns the holder for a connection that was heard just now.
func NewHolder(now time.Time) *Holder {
	h := new(Holder)
	h.tables.Store(new([]*Table))
	h.heard.Store(int64(longAgo))
	h.Heard(now)
	return h
}

// Heard notes that frames came over the connection, at a time read after the frames. It is called for every burst. If
// times come out of order the latest counts.
func (h *Holder) Heard(now time.Time) {
	at := int64(now.Sub(origin)) // an instant
	for before := h.heard.Load(); before < at && !h.heard.CompareAndSwap(before, at); {
		before = h.heard.Load()
	}
	if h.Reader != nil {
		_, stood := h.Reader.Latest()
		h.stood.Store(int64(stood))
	}
}

// MayPong does the work of Heard and returns whether a ping in the burst may be answered: whether this host can vouch
// for all sessions that the client may take for attached. If not, the pong waits: the caller may ask again later,
// with a later time, or leave the ping unanswered.
//
// MayPong may return true while a table finds a session due in the same moment. Even then the pong does not speak of
// the session that is due: MayPong stores the time of the burst before it reads the debt, and a table makes the debt
// before it reads the time for the last time.
func (h *Holder) MayPong(now time.Time) bool {
	h.Heard(now)
	for _, t := range *h.tables.Load() {
		if !t.fresh.Fresh(now) {
			return false
		}
	}
	// The debt last: a table leaves the list after it has made its debts.
	return h.debt.Load() == 0
}

// Reported notes that n losses were reported to the client: the messages are in the connection's queue, ahead of
// everything that is enqueued from now on. Any goroutine may call Reported.
func (h *Holder) Reported(n int) {
	assert(h.debt.Add(-int64(n)) >= 0, "a client is told of what it lost, once")
}

// Close notes that the connection has gone. Its sessions become detached in all tables, and no session can be
// attached over the holder any more. Any goroutine may call Close, more than once.
func (h *Holder) Close(now time.Time) {
	h.mu.Lock()
	tables := *h.tables.Load()
	h.closed = true
	h.mu.Unlock()
	for _, t := range tables {
		t.detachAll(h, now)
	}
}

// addTable adds the table to the holder's list, unless the connection has gone.
func (h *Holder) addTable(t *Table) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	tables := append(slices.Clip(*h.tables.Load()), t)
	h.tables.Store(&tables)
	return true
}

// removeTable removes the table from the list.
func (h *Holder) removeTable(t *Table) {
	h.mu.Lock()
	defer h.mu.Unlock()
	tables := slices.DeleteFunc(slices.Clone(*h.tables.Load()), func(o *Table) bool { return o == t })
	h.tables.Store(&tables)
}

// silence returns when the client was last heard, from when on the client counts as silent, and until when the
// silence is known. Frames that the client sends while its reader stands still are not heard, and when the reader
// goes on some time passes until everything has been read. A reader that does not come back for too long does not
// count.
func (h *Holder) silence(now instant) (heard, since, until instant) {
	if h.Reader == nil {
		heard = h.lastHeard()
		return heard, heard, now
	}
	before := time.Duration(h.stood.Load()) // first: an old value only makes the client silent later
	heard = h.lastHeard()
	last, stood := h.Reader.Latest()
	since = heard.plus(missed(stood - before))
	if known := instantOf(last); now <= known.plus(readerGone) {
		return heard, since, min(known, now)
	}
	return heard, since, now
}

// lastHeard returns when frames last came.
func (h *Holder) lastHeard() instant { return instant(h.heard.Load()) }
