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
	// ErrInUse: the connection has an open watch of the id.
	ErrInUse = errors.New("watch: the id belongs to an open watch")
	// ErrGone: the connection is gone.
	ErrGone = errors.New("watch: the connection is gone")
	// ErrClosed: the hub was closed.
	ErrClosed = errors.New("watch: closed")
	// errRevisions is wrapped by the errors about revisions that do not grow.
	errRevisions = errors.New("watch: the revisions of a shard do not grow")
)

// Machine is the state that the hub reads; *machine.Machine is the machine of a shard.
//
// An object of a kind other than semaphores is read by views. A view is the whole object or a part, with a head and
// rows. A view has a revision of its own, the revision of the last change in the view. Changes since this revision or
// a later one are none, whatever else of the object changes, and each further change of the view leads above all
// earlier revisions. A view that comes into being is described anew to a reader that asks since a revision from
// before. Rows are good until their Delta or Description is used again; everything else that was read never changes.
type Machine interface {
	Changes(r shard.Ref, since shard.Revision, d *shard.Delta) shard.DeltaKind
	Describe(r shard.Ref, o shard.DescribeOptions, d *shard.Description) bool
}

// Hub is the streaming watches of one shard's replica on this host. All goroutines may call its methods, except Apply
// and Restored, which belong to the goroutine that applies batches.
//
// A hub has one worker at most. The worker starts when there is work and ends when no work is left. Only the worker
// decides about a watch.
type Hub struct {
	machine  Machine
	options  Options
	open     atomic.Int64 // watches
	counters counters

	// mu guards the fields below. Apply takes mu, so mu is held for moments only, and no other lock is taken under
	// it.
	mu          sync.Mutex
	objects     map[shard.ObjectName]*object // changed by the worker only
	subscribers map[Sink]*subscriber
	tasks       []task
	ready       []*object                     // changed, and due
	resting     heap.Heap[*object, restOrder] // changed, but others were sent a moment ago
	timer       *time.Timer
	timerAt     time.Time      // when the timer fires; zero while the timer is not set
	checkAt     time.Time      // when the worker is to check how far snapshots got; zero if no check is due
	checking    bool           // a check is due now
	revision    shard.Revision // the newest revision that Apply got
	awaited     shard.Revision // the lowest revision that a watch waits for; 0 if no watch waits
	running     bool           // the worker is running
	closed      bool
	stopped     sync.Cond // signals that the worker has stopped

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

// Apply gets the effects of a batch after the machine has applied the batch. An error says that revisions do not
// grow, and that the replica must not go on.
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

// Restored is called when the machine's state was replaced, by a newer state as a rule. The worker checks every
// watch.
func (h *Hub) Restored(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Nothing is known about the new state, and nothing may be concluded from the old state.
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

// Open opens a watch. Open appends the answer itself, so the answer comes before all frames of the watch. Nothing of
// the request is kept. The request must have been admitted: the replica is fresh, and the node exists.
func (h *Hub) Open(sink Sink, id uint64, m *protocol.Watch) error {
	// The budget comes first: a refused watch must leave no subscriber, because the connection may be gone already.
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
	// The watch is counted before other goroutines can see it: the worker counts the watch off at its end, and Apply
	// must never read a count below the number of watches.
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

// Stop ends a watch and reports whether the watch was open. Nothing is appended for the watch after Stop has
// returned.
func (h *Hub) Stop(sink Sink, id uint64) bool {
	if sub := h.known(sink); sub != nil {
		if w := sub.stop(id); w != nil {
			h.enqueue(task{kind: taskStop, watch: w})
			return true
		}
	}
	return false
}

// known returns the subscriber of a connection, nil for a connection without one.
func (h *Hub) known(sink Sink) *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.subscribers[sink]
}

// Gone is called when a connection is gone, and its Append returns false.
func (h *Hub) Gone(sink Sink) {
	if sub := h.known(sink); sub != nil {
		h.removeSubscriber(sub)
	}
}

// Drained is called when a connection takes frames again.
func (h *Hub) Drained(sink Sink) {
	if sub := h.known(sink); sub != nil {
		h.enqueue(task{kind: taskDrain, subscriber: sub})
	}
}

// End ends all watches that are open now, by a WatchEnd with the result.
func (h *Hub) End(result protocol.Result) {
	if h.Len() > 0 {
		h.enqueue(task{kind: taskEnd, may: func(shard.ObjectName) bool { return false }, result: &result})
	}
}

// EndNode ends the watches of a node, as End does.
func (h *Hub) EndNode(node shard.NodeID, result protocol.Result) {
	if h.Len() > 0 {
		may := func(of shard.ObjectName) bool { return of.Node != node }
		h.enqueue(task{kind: taskEnd, may: may, result: &result})
	}
}

// EndUnless ends, as End does, the watches of a connection on objects for which may returns false. The worker calls
// may.
func (h *Hub) EndUnless(sink Sink, may func(shard.ObjectName) bool, result protocol.Result) {
	if sub := h.known(sink); sub != nil {
		h.enqueue(task{kind: taskEndUnless, subscriber: sub, may: may, result: &result})
	}
}

// EndAhead ends, as End does, the watches that were opened before the given time and still ask for a revision above
// the replica's. A read barrier from that time on proves that no such revision ever existed.
func (h *Hub) EndAhead(opened time.Time, result protocol.Result) {
	if h.counters.ahead.Load() > 0 {
		h.enqueue(task{kind: taskEndAhead, at: opened, result: &result})
	}
}

// Close stops the hub. After Close has returned no sink is called any more. Watches get no WatchEnd.
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
