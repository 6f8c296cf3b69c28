package hub

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

var (
	// ErrInUse: the connection has an open watch of that id.
	ErrInUse = errors.New("hub: the id belongs to an open watch")
	// ErrGone: the connection is gone.
	ErrGone = errors.New("hub: the connection is gone")
	// ErrClosed: the hub was closed.
	ErrClosed = errors.New("hub: closed")
	// errRevisions is wrapped by the errors about revisions that do not grow.
	errRevisions = errors.New("hub: the revisions of a shard do not grow")
)

// Machine is what the hub reads; *shard.Machine is one.
//
// Of a kind other than semaphores it reads views: the whole object or a part of it, each with a head and rows. A view
// has a revision of its own, that at which anything in it changed last: Changes since that revision or a later one are
// none, whatever else of the object changes, and each further change of the view leads above all revisions of before.
// A view that comes is described anew to a reader that asks since a revision at which it was missing. Rows are good
// until what holds them is used again; all else that was read does not change any more.
type Machine interface {
	Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind
	Describe(r shard.Ref, o shard.DescribeOptions, d *shard.Description) bool
}

// Hub is the streaming watches of one shard's replica on this host. Its methods may be called from any
// goroutine, but for Apply and Restored, which are for the one where batches are applied.
//
// There is one worker at most. It is started when there is something to do and ends when there is nothing
// left. All that becomes of a watch is decided by it.
type Hub struct {
	machine  Machine
	options  Options
	open     atomic.Int64 // watches
	counters counters

	// mu guards what follows. Apply takes it, so it is held for moments only, and no other lock is taken
	// under it.
	mu          sync.Mutex
	objects     map[shard.ObjectName]*object // changed by the worker only
	subscribers map[Sink]*subscriber
	tasks       []task
	ready       []*object        // changed, and due
	resting     ordered[*object] // changed, but others were sent a moment ago
	timer       *time.Timer
	timerAt     time.Time      // when the timer fires; zero where it is not set
	checkAt     time.Time      // when the worker is to check how far snapshots got; zero where it need not
	checking    bool           // it is now
	revision    shard.Revision // the newest that Apply got
	awaited     shard.Revision // the lowest that a watch waits for; 0 where none does
	running     bool           // the worker is
	closed      bool
	stopped     sync.Cond // the worker is not running any more

	worker worker
}

// New returns a hub for the replica whose state is in m.
func New(m Machine, o Options) *Hub {
	h := &Hub{
		machine: m, options: o.withDefaults(),
		objects: make(map[shard.ObjectName]*object), subscribers: make(map[Sink]*subscriber),
		resting: ordered[*object]{
			before: func(a, b *object) bool { return a.next.Before(b.next) },
			place:  func(x *object) *int { return &x.rests },
		},
	}
	h.stopped.L = &h.mu
	h.worker.init(h)
	return h
}

// Apply gets what a batch brought about, after the machine has applied it. An error says that revisions do not grow:
// the replica must not go on.
func (h *Hub) Apply(effects []shard.Effect, now time.Time) error {
	// A watch that is being opened is counted before it reads the machine, so that what it does not get
	// here it has read.
	if h.open.Load() == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range effects {
		e := &effects[i]
		if e.Kind != shard.EffectChanged {
			continue
		}
		if e.Revision <= h.revision {
			return fmt.Errorf("%w: %d of %q comes after %d", errRevisions, e.Revision, e.Name, h.revision)
		}
		h.revision = e.Revision
		if x := h.objects[shard.ObjectName{Node: e.Node, Name: e.Name}]; x != nil && e.Flags&x.interest != 0 {
			h.mark(x, e.Flags, now)
		}
	}
	reached := h.awaited != 0 && h.revision >= h.awaited
	if reached || len(h.ready) > 0 {
		h.wake()
	}
	return nil
}

// Restored is called when the machine's state was replaced, by a newer one as a rule. Every watch is checked.
func (h *Hub) Restored(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Nothing is known about the new state, and nothing may be concluded from the old one.
	h.revision = 0
	for _, x := range h.objects {
		if x.stage == objectResting {
			h.resting.remove(x)
			h.makeReady(x)
		}
		x.next, x.replaced = now, true
		h.mark(x, everything, now)
	}
	h.wake()
}

// Open opens a watch. It appends the answer, which so comes before all that is pushed for the watch; what
// the request holds is not kept. The request must have been admitted: the replica is fresh, and the node
// exists.
func (h *Hub) Open(sink Sink, id uint64, m *protocol.Watch) error {
	sub, err := h.subscriberOf(sink)
	if err != nil {
		return err
	}
	w := &watch{
		subscriber: sub, id: id, wants: wantsOf(m), opened: time.Now(), name: len(m.Name) + len(m.View),
		revision: shard.Revision(m.Since), begun: m.Since != 0,
	}
	if !h.options.Budget.Take(w.name) {
		return ErrBudget
	}
	// Before others can see the watch: the worker counts it off at its end, and Apply must never find fewer than there
	// are.
	h.open.Add(1)
	if err := sub.open(w, m.ObjectKind); err != nil {
		h.open.Add(-1)
		h.options.Budget.Give(w.name)
		if errors.Is(err, ErrGone) {
			h.removeSubscriber(sub)
		}
		return err
	}
	h.enqueue(task{kind: taskOpen, watch: w, ref: refOf(m)})
	return nil
}

// Stop ends a watch and reports whether there was one. Nothing is appended for it after Stop has returned.
func (h *Hub) Stop(sink Sink, id uint64) bool {
	h.mu.Lock()
	sub := h.subscribers[sink]
	h.mu.Unlock()
	if sub == nil {
		return false
	}
	w := sub.stop(id)
	if w == nil {
		return false
	}
	h.enqueue(task{kind: taskStop, watch: w})
	return true
}

// Gone is called when a connection is gone: its Append returns false.
func (h *Hub) Gone(sink Sink) {
	h.mu.Lock()
	sub := h.subscribers[sink]
	h.mu.Unlock()
	if sub != nil {
		h.removeSubscriber(sub)
	}
}

// Drained is called when a connection takes again what is sent.
func (h *Hub) Drained(sink Sink) {
	h.mu.Lock()
	sub := h.subscribers[sink]
	h.mu.Unlock()
	if sub != nil {
		h.enqueue(task{kind: taskDrain, subscriber: sub})
	}
}

// End ends all watches that are open now, with a WatchEnd that has the result.
func (h *Hub) End(result protocol.Result) {
	if h.Len() > 0 {
		h.enqueue(task{kind: taskEnd, result: &result})
	}
}

// EndNode ends the watches of a node, as End.
func (h *Hub) EndNode(node shard.NodeID, result protocol.Result) {
	if h.Len() > 0 {
		h.enqueue(task{kind: taskEndNode, ref: shard.Ref{Node: node}, result: &result})
	}
}

// EndUnless ends, as End, the watches of a connection on what it may not watch. It is asked from the worker.
func (h *Hub) EndUnless(sink Sink, may func(shard.ObjectName) bool, result protocol.Result) {
	h.mu.Lock()
	sub := h.subscribers[sink]
	h.mu.Unlock()
	if sub != nil {
		h.enqueue(task{kind: taskEndUnless, subscriber: sub, may: may, result: &result})
	}
}

// EndAhead ends, as End, the watches that were opened before that time and still ask for a revision which
// the replica has not reached. After a read barrier that began then, such a revision never was.
func (h *Hub) EndAhead(opened time.Time, result protocol.Result) {
	if h.counters.ahead.Load() > 0 {
		h.enqueue(task{kind: taskEndAhead, at: opened, result: &result})
	}
}

// Close stops the hub. When it returns no sink is called any more. Watches get no end.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.timer != nil {
		h.timer.Stop()
	}
	for h.running {
		h.stopped.Wait()
	}
}
