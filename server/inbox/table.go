package inbox

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
)

// Sink is a connection, as the table sees it. It must be comparable: a pointer. Push and Acts are called with locks of
// the table held, so none of the table's methods may be called with a lock held that they take.
type Sink interface {
	// Push appends a message to the connection's stream, and does nothing where the connection is gone.
	Push(request uint64, m protocol.PushMessage)
	// Flush hands over to be sent what was appended, or, where few connections are flushed, sends it at once if it can.
	Flush(few bool)
	// Pending is how many bytes were flushed and are not sent yet. When it was above Config.SlowBytes and has fallen
	// well below again, Table.Drained must be called.
	Pending() int
	// Acts reports whether the session may act over this connection. When it may not any more, Table.Forget must be
	// called.
	Acts(session shard.SessionID) bool
}

// Machine is where the inboxes are.
type Machine interface {
	// Inbox is that of shard.Machine.
	Inbox(n shard.NodeID, name []byte, s shard.SessionID, member shard.OrderID, after uint64, most int,
		dst []process.Delivery) ([]process.Delivery, shard.InboxPlace, process.Answer)
}

// Member is whose inbox it is.
type Member struct {
	Session shard.SessionID
	Node    shard.NodeID
	Name    string // of the process
	ID      shard.OrderID
}

// Config is what a table is made of. What is zero in it has a default.
type Config struct {
	Machine Machine
	// AheadBytes is about how much is pushed to a member ahead of what it has acknowledged.
	AheadBytes int
	// PushBytes is from how many bytes of items on a push goes out.
	PushBytes int
	// SlowBytes is how much may wait to be sent over a connection before its members are left out until it has drained.
	// It must not be less than the transport's high water.
	SlowBytes int
}

const (
	defaultAhead = 1 << 20
	defaultSlow  = 1 << 20
)

// Table has the inboxes of one shard that are open over connections of this host.
type Table struct {
	config Config
	opened atomic.Int64 // how many there are
	counts counters

	mu         sync.Mutex // guards what follows
	members    map[shard.OrderID]*opening
	sessions   map[shard.SessionID][]*opening
	late       map[Sink][]*opening // those that wait until their connection has drained
	ready      []*opening          // those that may have something new
	delivering bool                // some goroutine does; all of worker is its own
	idle       sync.Cond           // the worker has ended

	worker worker
}

// opening is an inbox that is pushed over a connection.
type opening struct {
	Member
	sink Sink
	sent uint64 // the last seq that was pushed; of who delivers

	// Guarded by the table's lock.
	in    bool   // it is in the table
	ready bool   // it is in the list
	late  bool   // it is among those that wait
	why   string // the member is none any more, where it is known

	// mu is held while a message is appended for it: what has closed it before is the last word.
	mu     sync.Mutex
	closed bool
}

// New returns an empty table.
func New(c Config) *Table {
	if c.AheadBytes == 0 {
		c.AheadBytes = defaultAhead
	}
	if c.PushBytes == 0 {
		c.PushBytes = protocol.PageBytes
	}
	if c.SlowBytes == 0 {
		c.SlowBytes = defaultSlow
	}
	t := &Table{
		config: c, members: make(map[shard.OrderID]*opening), sessions: make(map[shard.SessionID][]*opening),
		late: make(map[Sink][]*opening),
	}
	t.idle.L = &t.mu
	return t
}

// Len is how many inboxes are open.
func (t *Table) Len() int { return int(t.opened.Load()) }

// The refusals and ends that the table says by itself.
var (
	notActing = protocol.Result{
		Status: protocol.StatusBadSession, Message: "the session does not act over this connection any more",
	}
	takenOver = protocol.Result{
		Status: protocol.StatusBadSession, Message: "the inbox was opened over another connection",
	}
)

// Open has the inbox of a member pushed over a connection, from behind a seq on; it takes it from the connection that
// had it. answer is called where that is so, appends the answer, and returns false where the session does not act over
// the connection any more. Else the result says why not.
func (t *Table) Open(m Member, sink Sink, after uint64, answer func(shard.InboxPlace) bool) protocol.Result {
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
			end.Status, end.Message = protocol.StatusUnavailable, "another connection was about to open the inbox"
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

// put puts an opening in, where its session acts over the connection: Forget, which is called after that has ended,
// finds it here.
func (t *Table) put(o *opening) (earlier *opening, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !o.sink.Acts(o.Session) {
		return nil, false
	}
	if earlier = t.members[o.ID]; earlier != nil {
		t.remove(earlier)
	}
	t.members[o.ID], o.in = o, true
	t.sessions[o.Session] = append(t.sessions[o.Session], o)
	t.opened.Add(1)
	return earlier, true
}

// remove takes an opening out. The lock is held.
func (t *Table) remove(o *opening) {
	if !o.in {
		return
	}
	o.in = false
	t.opened.Add(-1)
	if t.members[o.ID] == o {
		delete(t.members, o.ID)
	}
	rest := slices.DeleteFunc(t.sessions[o.Session], func(x *opening) bool { return x == o })
	if t.sessions[o.Session] = rest; len(rest) == 0 {
		delete(t.sessions, o.Session)
	}
}

// replaced ends an opening that a later one took the place of. A client that opens an inbox again over the same
// connection hears of nothing but the answer.
func (t *Table) replaced(o, by *opening, end protocol.Result) {
	if o.sink == by.sink {
		t.close(o, nil)
		return
	}
	t.close(o, &end)
	o.sink.Flush(false)
}

// close takes an opening out, and appends its last push where there is something to say.
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

// Forget ends, without a word, what is pushed to a session over a connection over which it does not act any more.
func (t *Table) Forget(session shard.SessionID, sink Sink) {
	for _, o := range t.of(session) {
		if o.sink == sink {
			t.close(o, nil)
		}
	}
}

// EndUnless ends what is pushed to a session over a connection of processes that it may not be a member of any more,
// and says why; the caller flushes.
func (t *Table) EndUnless(session shard.SessionID, sink Sink, may func(shard.ObjectName) bool, why protocol.Result) {
	for _, o := range t.of(session) {
		if o.sink == sink && !may(shard.ObjectName{Node: o.Node, Name: o.Name}) {
			t.close(o, &why)
		}
	}
}

// of returns what is open of a session.
func (t *Table) of(session shard.SessionID) []*opening {
	if t.Len() == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.sessions[session])
}

// Gone lets go of a connection that is gone, after all its sessions were forgotten.
func (t *Table) Gone(sink Sink) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.late, sink)
}

// End ends all of them, and says why.
func (t *Table) End(why protocol.Result) {
	t.mu.Lock()
	all := make([]*opening, 0, len(t.members))
	for _, o := range t.members {
		all = append(all, o)
	}
	t.mu.Unlock()
	reached := make(map[Sink]struct{})
	for _, o := range all {
		t.close(o, &why)
		reached[o.sink] = struct{}{}
	}
	for sink := range reached {
		sink.Flush(false)
	}
}
