package inbox

import (
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
)

// deliversHere is for how many members Deliver pushes on the goroutine that calls it: to start another one takes longer
// than a few of them. Where there are more the batches that are applied meanwhile would wait.
const deliversHere = 4

// counters are what has happened since the table was made.
type counters struct{ items, bytes, pushes, ends, held atomic.Uint64 }

// Counts are what a table has done since it was made.
type Counts struct {
	Items  uint64 // that were pushed
	Bytes  uint64 // of those
	Pushes uint64 // that they went with
	Ends   uint64 // inboxes that ended with a push
	Held   uint64 // how often items waited because their connection took nothing
}

// Counts returns what the table has done.
func (t *Table) Counts() Counts {
	c := &t.counts
	return Counts{
		Items: c.items.Load(), Bytes: c.bytes.Load(), Pushes: c.pushes.Load(), Ends: c.ends.Load(), Held: c.held.Load(),
	}
}

// worker is what the goroutine that delivers uses.
type worker struct {
	round   []*opening
	items   []process.Delivery
	item    protocol.Item
	push    protocol.Inbox
	reached map[Sink]struct{}
}

// Note says that the inbox of a member has something new, has room, or is no more. What is new is pushed by Deliver.
func (t *Table) Note(id shard.OrderID) {
	if t.Len() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.members[id]; o != nil {
		t.note(o)
	}
}

// Lost is Note for a member that is none any more, and says why.
func (t *Table) Lost(id shard.OrderID, why string) {
	if t.Len() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.members[id]; o != nil {
		o.why = why
		t.note(o)
	}
}

// NoteSession is Note for all members that a session is.
func (t *Table) NoteSession(id shard.SessionID) {
	if t.Len() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.sessions[id] {
		t.note(o)
	}
}

// note puts an opening into the list of those that are ready. The lock is held.
func (t *Table) note(o *opening) {
	if !o.ready {
		o.ready = true
		t.ready = append(t.ready, o)
	}
}

// Drained says that a connection takes again what is sent.
func (t *Table) Drained(sink Sink) {
	if t.wake(sink) {
		t.Deliver()
	}
}

// wake puts those that wait for a connection into the list of those that are ready, and says whether there are any.
func (t *Table) wake(sink Sink) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	waited := t.late[sink]
	delete(t.late, sink)
	for _, o := range waited {
		o.late = false
		t.note(o)
	}
	return len(waited) > 0
}

// Deliver pushes what is new: to few members on this goroutine, to many on one that is started for it. It does nothing
// where another goroutine delivers: that one takes what is noted meanwhile.
func (t *Table) Deliver() {
	t.mu.Lock()
	n := len(t.ready)
	if n == 0 || t.delivering {
		t.mu.Unlock()
		return
	}
	t.delivering = true
	t.mu.Unlock()
	if n <= deliversHere {
		t.deliverRound()
		if !t.more() {
			return
		}
	}
	go func() {
		for {
			t.deliverRound()
			if !t.more() {
				return
			}
		}
	}()
}

// more reports whether there is something left to deliver; where there is not the worker ends.
func (t *Table) more() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ready) > 0 {
		return true
	}
	t.delivering = false
	t.idle.Broadcast()
	return false
}

// Wait waits until the worker has nothing to deliver.
func (t *Table) Wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.delivering {
		t.idle.Wait()
	}
}

// keptRound is for how many openings the memory of a round is kept.
const keptRound = 1024

// deliverRound pushes to all that are ready, and flushes each connection once.
func (t *Table) deliverRound() {
	w := &t.worker
	t.mu.Lock()
	w.round, t.ready = t.ready, w.round[:0]
	for _, o := range w.round {
		o.ready = false // what is noted from here on is for the next round
	}
	t.mu.Unlock()
	if w.reached == nil {
		w.reached = make(map[Sink]struct{})
	}
	for k, o := range w.round {
		t.deliver(o)
		w.round[k] = nil
	}
	few := len(w.reached) <= deliversHere
	for sink := range w.reached {
		sink.Flush(few)
	}
	clear(w.reached)
	if cap(w.round) > keptRound {
		w.round = nil
		w.reached = nil
	}
}

// deliver pushes what a member has to handle and was not pushed, as far as there is room. A member that is none any
// more gets the end.
func (t *Table) deliver(o *opening) {
	if t.holds(o) {
		return
	}
	w := &t.worker
	items, _, refused := t.config.Machine.Inbox(o.Node, protocol.View(o.Name), o.Session, o.ID, o.sent,
		t.config.AheadBytes, w.items[:0])
	w.items = items
	if refused.Status != protocol.StatusSuccess {
		t.close(o, t.ending(o, &refused))
		w.reached[o.sink] = struct{}{}
		return
	}
	w.push = protocol.Inbox{
		SessionID: uint64(o.Session), NodeID: uint64(o.Node), Name: protocol.View(o.Name), MemberID: uint64(o.ID),
		Items: w.push.Items,
	}
	for k := range items {
		w.fill(&items[k])
		w.push.Items.Append(w.item)
		if k < len(items)-1 && w.push.Items.Size() < t.config.PushBytes {
			continue
		}
		if !t.append(o) {
			break
		}
		o.sent = items[k].Seq
	}
	w.push.Items.Reset()
	clear(items)
}

// ending is the end for a member that is none any more.
func (t *Table) ending(o *opening, refused *process.Answer) *protocol.Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.why == "" {
		o.why = refused.Text
	}
	return &protocol.Result{Status: refused.Status, Message: o.why}
}

// append appends the push to the connection, unless the inbox was closed.
func (t *Table) append(o *opening) bool {
	w := &t.worker
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.sink.Push(0, &w.push)
	w.reached[o.sink] = struct{}{}
	t.counts.pushes.Add(1)
	t.counts.items.Add(uint64(w.push.Items.Len()))
	t.counts.bytes.Add(uint64(w.push.Items.Size()))
	w.push.Items.Reset()
	return true
}

// holds reports whether the opening has to wait until its connection has drained. It is on the list before the
// connection is looked at for the second time, so that either Drained finds it there, or the room is seen here.
func (t *Table) holds(o *opening) bool {
	if o.sink.Pending() <= t.config.SlowBytes {
		return false
	}
	t.mu.Lock()
	if o.in && !o.late {
		o.late = true
		t.late[o.sink] = append(t.late[o.sink], o)
		t.counts.held.Add(1)
	}
	t.mu.Unlock()
	if o.sink.Pending() <= t.config.SlowBytes {
		t.wake(o.sink)
	}
	return true
}

// fill fills the item with what a member has to handle, in memory that is used again.
func (w *worker) fill(d *process.Delivery) {
	replies, missed := w.item.Replies, w.item.Missed
	replies.Reset()
	missed.Reset()
	for k := range d.Replies {
		r := &d.Replies[k]
		replies.Append(protocol.Reply{From: r.From, Failed: r.Failed, Data: r.Data})
	}
	for _, id := range d.Missed {
		missed.Append(protocol.OrderID(id))
	}
	w.item = protocol.Item{
		Seq: d.Seq, Kind: d.Kind, Epoch: d.Epoch, Members: uint64(d.Members),
		Coordinator: d.Coordinator, Exchange: d.Exchange, From: d.From, Payload: d.Payload,
		Outcome: d.Outcome, Replies: replies, Last: d.Last, Missing: uint64(d.Missing),
		Missed: missed,
	}
}
