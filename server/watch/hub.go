package watch

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/internal/heap"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

var (
	// ErrInUse: the connection has an open watch with the id.
	ErrInUse = errors.New("watch: the id belongs to an open watch")
	// ErrGone: the connection is closed.
	ErrGone = errors.New("watch: the connection is gone")
	// ErrClosed: the hub is closed.
	ErrClosed = errors.New("watch: closed")
	// errRevisions is wrapped by errors about revisions that do not increase.
	errRevisions = errors.New("watch: the revisions of a shard do not grow")
)

// Machine is the state the hub reads; *machine.Machine is a shard's machine.
//
// Objects other than semaphores are read by view. A view is the whole object or a part, with a head and rows. A
// view's revision is the revision of its last change. A read of changes since this revision or a later one returns
// none, whatever else changes in the object, and every further change to the view leads above all earlier revisions.
// If a view is recreated, a reader that asks since an earlier revision gets a full description. Rows are valid until
// their Delta or Description is reused; everything else that was read never changes.
type Machine interface {
	Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind
	Describe(r shard.Ref, o shard.DescribeOptions, d *shard.Description) bool
}

// Hub serves the streaming watches for one shard's replica on the host. Safe for concurrent use, except Apply and
// Restored, which belong to the goroutine that applies batches.
//
// A hub has at most one worker. The worker starts when there is work and ends when none is left. Only the worker
// decides about a watch.
type Hub struct {
	machine  Machine
	options  Options
	open     atomic.Int64 // watches
	counters counters

	// mu guards the fields below. Apply takes mu, so mu is held only briefly, and no other lock is taken under it.
	mu          sync.Mutex
	objects     map[shard.ObjectName]*object // changed by the worker only
	subscribers map[Sink]*subscriber
	tasks       []task
	ready       []*object                     // changed, and due
	resting     heap.Heap[*object, restOrder] // changed, but sent a moment ago
	timer       *time.Timer
	timerAt     time.Time      // when the timer fires; zero if not set
	checkAt     time.Time      // when the worker should check snapshot progress; zero if no check is due
	checking    bool           // a check is due now
	revision    shard.Revision // the newest revision that Apply got
	awaited     shard.Revision // the lowest revision a watch waits for; 0 if none waits
	running     bool           // the worker is running
	closed      bool
	stopped     sync.Cond // signals the worker has stopped

	worker worker
}

// New returns a hub for the replica whose state is in m.
func New(m Machine, o Options) *Hub {
	h := &Hub{
		machine: m, options: o.withDefaults(),
		objects: make(map[shard.ObjectName]*object), subscribers: make(map[Sink]*subscriber),
	}
	h.stopped.L = &h.mu
	h.worker.init(h)
	return h
}

// Apply receives a batch's effects after the machine has applied the batch. An error means that revisions do not
// increase, and that the replica must not continue.
func (h *Hub) Apply(effects []shard.Effect, now time.Time) error {
	// Open counts a watch before the watch reads the machine. So a watch that is not counted yet will read these
	// effects from the machine.
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

// Restored is called when the machine's state was replaced, usually by a newer state. The worker checks every watch.
func (h *Hub) Restored(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Nothing is known about the new state, and the old state proves nothing.
	h.revision = 0
	for _, x := range h.objects {
		if x.stage == objectResting {
			h.resting.Remove(x.rests)
			h.makeReady(x)
		}
		x.next, x.replaced = now, true
		h.mark(x, everything, now)
	}
	h.wake()
}

// Open opens a watch. Open appends the answer itself, so that the answer precedes all frames for the watch. Open
// retains nothing from the request. The request must have been admitted: the replica is fresh, and the node exists.
func (h *Hub) Open(sink Sink, id uint64, m *protocol.Watch) error {
	// Take from the budget first: a refused watch must not leave a subscriber, because the connection may already be
	// closed.
	name := len(m.Name) + len(m.View)
	if !h.options.Budget.Take(name) {
		return ErrBudget
	}
	sub, err := h.subscriberOf(sink)
	if err != nil {
		h.options.Budget.Give(name)
		return err
	}
	w := &watch{
		subscriber: sub, id: id, wants: wantsOf(m), opened: time.Now(), name: name,
		revision: shard.Revision(m.Since), begun: m.Since != 0,
	}
	// The watch is counted before other goroutines can see it: the worker decrements the count when the watch ends,
	// and Apply must never read a count below the number of watches.
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

// Stop ends a watch and reports whether the watch was open. After Stop has returned, nothing is appended for the
// watch.
func (h *Hub) Stop(sink Sink, id uint64) bool {
	if sub := h.known(sink); sub != nil {
		if w := sub.stop(id); w != nil {
			h.enqueue(task{kind: taskStop, watch: w})
			return true
		}
	}
	return false
}

// known returns a connection's subscriber, nil if missing.
func (h *Hub) known(sink Sink) *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.subscribers[sink]
}

// Gone is called when a connection is closed, and its Append returns false.
func (h *Hub) Gone(sink Sink) {
	if sub := h.known(sink); sub != nil {
		h.removeSubscriber(sub)
	}
}

// Drained is called when a connection accepts frames again.
func (h *Hub) Drained(sink Sink) {
	if sub := h.known(sink); sub != nil {
		h.enqueue(task{kind: taskDrain, subscriber: sub})
	}
}

// End ends all open watches with a WatchEnd that has the result.
func (h *Hub) End(result protocol.Result) {
	if h.Len() > 0 {
		h.enqueue(task{kind: taskEnd, may: func(shard.ObjectName) bool { return false }, result: &result})
	}
}

// EndNode ends a node's watches, like End.
func (h *Hub) EndNode(node shard.NodeID, result protocol.Result) {
	if h.Len() > 0 {
		may := func(of shard.ObjectName) bool { return of.Node != node }
		h.enqueue(task{kind: taskEnd, may: may, result: &result})
	}
}

// EndSlots ends, like End, the watches on objects in slots for which stays returns false. The worker calls stays.
func (h *Hub) EndSlots(stays func(shard.Slot) bool, result protocol.Result) {
	if h.Len() > 0 {
		may := func(of shard.ObjectName) bool { return stays(shard.SlotOf(of.Node, []byte(of.Name))) }
		h.enqueue(task{kind: taskEnd, may: may, result: &result})
	}
}

// EndUnless ends, like End, a connection's watches on objects for which may returns false. The worker calls may.
func (h *Hub) EndUnless(sink Sink, may func(shard.ObjectName) bool, result protocol.Result) {
	if sub := h.known(sink); sub != nil {
		h.enqueue(task{kind: taskEndUnless, subscriber: sub, may: may, result: &result})
	}
}

// EndAhead ends, like End, the watches that were opened before the given time and still ask for a revision above the
// replica's. A read barrier that began after that time proves that no such revision ever existed.
func (h *Hub) EndAhead(opened time.Time, result protocol.Result) {
	if h.counters.ahead.Load() > 0 {
		h.enqueue(task{kind: taskEndAhead, at: opened, result: &result})
	}
}

// Close stops the hub. After Close has returned, no sink is called any more. Watches get no WatchEnd.
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
