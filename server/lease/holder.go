package lease

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Holder represents one client connection to the lease tables. Sessions in several tables may be attached over a
// holder. The calls the connection's event loop makes for every burst and every ping take no lock and allocate
// nothing.
//
// A holder loses a session if the session is due, is attached over another connection, or has ended, or if the host
// no longer leads its shard. The client must then be notified before the host may vouch for the connection again:
// until then the client cannot know that a pong does not cover the lost session. So every loss is a debt the table
// records together with the loss, and Reported settles it.
type Holder struct {
	// Owner is the server's connection. Owner is set before the holder is used.
	Owner any
	// Reader is the event loop that reads this and other connections, and may stall independently; nil if missing.
	// Reader is set before the holder is used.
	Reader Reader

	heard  atomic.Int64             // instant of the last burst of frames
	stood  atomic.Int64             // total stall time of the reader by then; set after heard, read before it
	debt   atomic.Int64             // losses not yet reported to the client
	tables atomic.Pointer[[]*Table] // tables with sessions attached over the holder; the slice never changes

	mu     sync.Mutex // guards changes to tables, and closed; taken within a table's lock
	closed bool
}

// Reader reads connections: an event loop.
type Reader interface {
	// Latest returns when the reader had last read everything its connections had sent, and its total stall time by
	// then. Safe for concurrent use.
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

// Heard records that frames arrived over the connection, at a time read after the frames. Heard is called for every
// burst. If times arrive out of order, the latest counts.
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

// MayPong includes Heard, and returns whether a ping in the burst may be answered: whether the host can vouch for all
// sessions the client may consider attached. If not, the pong waits: the caller may ask again later, with a later
// time, or leave the ping unanswered.
//
// MayPong may return true while a table finds a session due at the same time. Even then the pong does not cover the
// due session: MayPong stores the burst's time before it reads the debt, and a table records the debt before it reads
// the time for the last time.
func (h *Holder) MayPong(now time.Time) bool {
	h.Heard(now)
	for _, t := range *h.tables.Load() {
		if !t.fresh.Fresh(now) {
			return false
		}
	}
	// Read the debt last: a table leaves the list after it has recorded its debts.
	return h.debt.Load() == 0
}

// Reported records that n losses were reported to the client: the messages are in the connection's queue, ahead of
// everything enqueued later. Safe for concurrent use.
func (h *Holder) Reported(n int) {
	assert(h.debt.Add(-int64(n)) >= 0, "a client is told of what it lost, once")
}

// Close records that the connection has closed. Its sessions become detached in all tables, and no session can be
// attached over the holder any more. Safe for concurrent use, and may be called more than once.
func (h *Holder) Close(now time.Time) {
	h.mu.Lock()
	tables := *h.tables.Load()
	h.closed = true
	h.mu.Unlock()
	for _, t := range tables {
		t.detachAll(h, now)
	}
}

// In reports whether sessions in the table are attached over the holder.
func (h *Holder) In(t *Table) bool { return slices.Contains(*h.tables.Load(), t) }

// addTable adds the table to the holder's list, unless the connection has closed.
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

// silence returns when the client was last heard, since when the client counts as silent, and until when the silence
// is certain. Frames that the client sends while its reader is stalled are not heard, and after the reader resumes,
// reading everything takes some time. A reader that stays stalled for too long is ignored.
func (h *Holder) silence(now instant) (heard, since, until instant) {
	if h.Reader == nil {
		heard = h.lastHeard()
		return heard, heard, now
	}
	before := time.Duration(h.stood.Load()) // read first: an old value only makes the client silent later
	heard = h.lastHeard()
	last, stood := h.Reader.Latest()
	since = heard.plus(missed(stood - before))
	if known := instantOf(last); now <= known.plus(readerGone) {
		return heard, since, min(known, now)
	}
	return heard, since, now
}

// lastHeard returns when frames last arrived.
func (h *Holder) lastHeard() instant { return instant(h.heard.Load()) }
