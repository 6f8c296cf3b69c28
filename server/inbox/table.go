package inbox

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
)

// Sink is a connection, as used by the table. A sink must be comparable: a pointer. The table calls Push and Acts
// with its locks held, so callers of the table's methods must not hold a lock that Push or Acts take.
type Sink interface {
	// Push appends a message to the connection's stream. On a closed connection Push does nothing.
	Push(request uint64, m protocol.PushMessage)
	// Flush sends the appended messages. If few connections are flushed, Flush writes immediately if possible.
	Flush(few bool)
	// Pending returns the number of flushed bytes that are not sent yet. After the number has been above
	// Config.SlowBytes and has fallen well below, the sink's owner must call Table.Drained.
	Pending() int
	// Acts reports whether the session may act over the connection. When the permission ends, the sink's owner must
	// call Table.Forget.
	Acts(session shard.SessionID) bool
}

// Machine stores the inboxes.
type Machine interface {
	// Inbox is documented at process.Inboxes.
	Inbox(n shard.NodeID, name []byte, s shard.SessionID, member shard.OrderID, after uint64, most int,
		dst []process.Delivery) ([]process.Delivery, process.InboxPosition, process.Answer)
}

// Member is an inbox's owner.
type Member struct {
	Session shard.SessionID
	Node    shard.NodeID
	Name    string // process name
	ID      shard.OrderID
}

// link identifies a member in a shard. Order ids in two shards may be equal, and slots move between shards; but a
// session never has two links with the same order id.
type link struct {
	session shard.SessionID
	order   shard.OrderID
}

func (m *Member) link() link { return link{m.Session, m.ID} }

// Config configures a table. Zero fields have defaults.
type Config struct {
	Machine Machine
	// AheadBytes is the approximate number of bytes pushed to a member ahead of its acknowledgements.
	AheadBytes int
	// PushBytes is the size of collected items at which a push is sent.
	PushBytes int
	// SlowBytes is the number of unsent bytes per connection above which its members get nothing until the connection
	// has drained. SlowBytes must not be less than the transport's high water mark.
	SlowBytes int
}

const (
	defaultAhead = 1 << 20
	defaultSlow  = 1 << 20
)

// Table contains the open inboxes of one shard on the host.
type Table struct {
	config Config
	opened atomic.Int64 // number of open inboxes
	counts counters

	mu         sync.Mutex // guards the fields below, except worker
	members    map[link]*opening
	sessions   map[shard.SessionID][]*opening
	late       map[Sink][]*opening // openings that wait until the connection has drained
	ready      []*opening          // openings that may have something new
	delivering bool                // a goroutine is delivering, and owns worker
	idle       sync.Cond           // signalled when the worker has ended

	worker worker
}

// opening is an inbox whose items are pushed over a connection.
type opening struct {
	Member
	sink Sink
	sent uint64 // last pushed seq; used by the delivering goroutine

	// Guarded by the table's lock.
	in    bool   // in Table.members
	ready bool   // in Table.ready
	late  bool   // in Table.late
	why   string // why the member has lost the inbox, if known

	// mu is held while a message is appended for the opening, so that nothing follows the end message.
	mu     sync.Mutex
	closed bool
}

// New returns an empty table.
func New(c Config) *Table {
	c.AheadBytes = cmp.Or(c.AheadBytes, defaultAhead)
	c.PushBytes = cmp.Or(c.PushBytes, protocol.PageBytes)
	c.SlowBytes = cmp.Or(c.SlowBytes, defaultSlow)
	t := &Table{
		config: c, members: make(map[link]*opening), sessions: make(map[shard.SessionID][]*opening),
		late: make(map[Sink][]*opening),
	}
	t.idle.L = &t.mu
	return t
}

// Len returns the number of open inboxes.
func (t *Table) Len() int { return int(t.opened.Load()) }

// Refusals and end messages from the table itself.
var (
	notActing = protocol.Result{
		Status: protocol.StatusBadSession, Message: "the session is no longer bound to the connection",
	}
	takenOver = protocol.Result{
		Status: protocol.StatusBadSession, Message: "the inbox was opened on another connection",
	}
)

// Open starts to push a member's inbox over a connection, from after a seq, and ends an earlier opening of the inbox.
// On success Open calls answer, which appends the answer to the request, and returns false if the session may no
// longer act over the connection. On failure the result has the reason.
func (t *Table) Open(m Member, sink Sink, after uint64, answer func(process.InboxPosition) bool) protocol.Result {
	_, place, refused := t.config.Machine.Inbox(m.Node, protocol.View(m.Name), m.Session, m.ID, after, 0, nil)
	if refused.Status != protocol.StatusSuccess {
		return protocol.Result{Status: refused.Status, Message: refused.Text}
	}
	o := &opening{Member: m, sink: sink, sent: max(after, place.Acked)}
	o.mu.Lock() // nothing is pushed before the answer
	earlier, ok := t.put(o)
	ok = ok && answer(place)
	o.mu.Unlock()
	if earlier != nil {
		end := takenOver
		if !ok {
			end.Status, end.Message = protocol.StatusUnavailable, "another connection is opening the inbox"
		}
		t.replaced(earlier, o, end)
	}
	if !ok {
		t.close(o, nil)
		return notActing
	}
	t.mu.Lock()
	t.note(o)
	t.mu.Unlock()
	t.Deliver()
	return protocol.Result{}
}

// put adds an opening if the session may act over the connection. Forget is called after the session's permission has
// ended, so Forget finds the opening.
func (t *Table) put(o *opening) (earlier *opening, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !o.sink.Acts(o.Session) {
		return nil, false
	}
	if earlier = t.members[o.link()]; earlier != nil {
		t.remove(earlier)
	}
	t.members[o.link()], o.in = o, true
	t.sessions[o.Session] = append(t.sessions[o.Session], o)
	t.opened.Add(1)
	return earlier, true
}

// remove removes an opening. The lock is held.
func (t *Table) remove(o *opening) {
	if !o.in {
		return
	}
	o.in = false
	t.opened.Add(-1)
	if t.members[o.link()] == o {
		delete(t.members, o.link())
	}
	rest := slices.DeleteFunc(t.sessions[o.Session], func(x *opening) bool { return x == o })
	if t.sessions[o.Session] = rest; len(rest) == 0 {
		delete(t.sessions, o.Session)
	}
}

// replaced ends an opening after a later opening of the same inbox. A client that opens an inbox again over the same
// connection gets only the answer.
func (t *Table) replaced(o, by *opening, end protocol.Result) {
	if o.sink == by.sink {
		t.close(o, nil)
		return
	}
	t.close(o, &end)
	o.sink.Flush(false)
}

// close removes an opening and, unless end is nil, appends a last push with the end.
func (t *Table) close(o *opening, end *protocol.Result) {
	t.mu.Lock()
	t.remove(o)
	t.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	if end != nil {
		o.sink.Push(0, &protocol.Inbox{
			SessionID: uint64(o.Session), NodeID: uint64(o.Node), Name: protocol.View(o.Name), MemberID: uint64(o.ID),
			End: *end,
		})
		t.counts.ends.Add(1)
	}
}

// Forget ends a session's openings over a connection without a push, because the session may no longer act over the
// connection.
func (t *Table) Forget(session shard.SessionID, sink Sink) {
	for _, o := range t.of(session) {
		if o.sink == sink {
			t.close(o, nil)
		}
	}
}

// EndUnless ends a session's openings over a connection for processes in which the session may no longer be a member,
// and pushes the reason. The caller flushes.
func (t *Table) EndUnless(session shard.SessionID, sink Sink, may func(shard.ObjectName) bool, why protocol.Result) {
	for _, o := range t.of(session) {
		if o.sink == sink && !may(shard.ObjectName{Node: o.Node, Name: o.Name}) {
			t.close(o, &why)
		}
	}
}

// of returns a session's openings.
func (t *Table) of(session shard.SessionID) []*opening {
	if t.Len() == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.sessions[session])
}

// Gone removes a closed connection, after Forget for all of its sessions.
func (t *Table) Gone(sink Sink) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.late, sink)
}

// End ends all openings, and pushes the reason.
func (t *Table) End(why protocol.Result) {
	t.EndSlots(func(shard.Slot) bool { return false }, why)
}

// EndSlots is End for the processes in slots for which stays returns false.
func (t *Table) EndSlots(stays func(shard.Slot) bool, why protocol.Result) {
	if t.Len() == 0 {
		return
	}
	t.mu.Lock()
	all := slices.Collect(maps.Values(t.members))
	t.mu.Unlock()
	reached := make(map[Sink]struct{})
	for _, o := range all {
		if stays(shard.SlotOf(o.Node, []byte(o.Name))) {
			continue
		}
		t.close(o, &why)
		reached[o.sink] = struct{}{}
	}
	for sink := range reached {
		sink.Flush(false)
	}
}
