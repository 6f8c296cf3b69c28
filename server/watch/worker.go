package watch

import (
	"container/list"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/internal/heap"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// worker decides what the watches get, and appends their frames to their connections. One goroutine at a time uses
// the worker (see Hub.running), so no field needs a lock.
//
// The worker runs in rounds. In a round, it takes the pending work, plans frames for connections, and delivers the
// plans: all of a connection's frames together.
type worker struct {
	hub     *Hub
	encoder *protocol.Encoder
	now     time.Time      // when the round began
	applied shard.Revision // the revision applied when the round began

	tasks    []task
	ready    []*object
	queue    []*watch                      // to be planned
	resume   []*subscriber                 // connections whose held watches must be planned
	ahead    heap.Heap[*watch, aheadOrder] // watches whose revision is above the replica's, lowest first
	waiting  list.List                     // watches whose snapshot waits until other snapshots have arrived
	cached   []*topic                      // topics with a snapshot
	checking bool

	// From the planning since the last delivery.
	reached []*subscriber
	visited []*topic
	spent   int // used part of planBytes

	// The watches and connections that deliveries ended. They are removed at the end of the round: the watch lists
	// must not change while the worker walks through them.
	ended []*watch
	lost  []*subscriber

	inflight      []*subscriber // connections with snapshot bytes that may not have arrived
	inflightBytes int           // sum over all connections
	grew          bool          // snapshot bytes were added in this round
	burst         int           // snapshot bytes since burstSince
	burstSince    time.Time

	// Kept for reuse.
	writing *subscriber // the connection of the current write
	write   func(*protocol.Encoder, *bytebufferpool.ByteBuffer)
	spare   []*change
	owners  owners
	rows    rows
	delta   protocol.WatchDelta
	whole   protocol.WatchSnapshot

	resync protocol.SharedPush
}

func (wo *worker) init(h *Hub) {
	wo.hub, wo.encoder = h, protocol.NewEncoder()
	wo.write = wo.writePlan
	wo.owners.worker, wo.rows.worker = wo, wo
	wo.resync = wo.encoder.SharedPush(&protocol.WatchResync{})
}

// run works until no work is left.
func (wo *worker) run() {
	for wo.beginRound() {
		for i := range wo.tasks {
			wo.do(&wo.tasks[i])
		}
		wo.tasks = emptied(wo.tasks, keptItems)
		for _, x := range wo.ready {
			wo.planObject(x)
		}
		wo.planWaiting()
		wo.planQueue()
		wo.deliver()
		wo.finishRound()
		wo.dropUnused()
	}
}

// beginRound begins a round: it lets the last round's objects rest, and takes the pending work. If there is none,
// beginRound returns false, and the worker counts as stopped.
func (wo *worker) beginRound() bool {
	h := wo.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	wo.rearm()
	if h.closed {
		h.running = false
		h.stopped.Broadcast()
		return false
	}
	wo.tasks, h.tasks = h.tasks, wo.tasks
	wo.ready, h.ready = h.ready, wo.ready
	for _, x := range wo.ready {
		x.stage = objectPlanned
		x.taken, x.flags = x.flags, 0
		if x.replaced {
			x.replaced = false
			x.forget()
		}
	}
	wo.takeReached()
	wo.checking, h.checking = h.checking, false
	if len(wo.tasks)+len(wo.ready)+len(wo.queue)+len(wo.resume) == 0 && !wo.checking &&
		!(wo.grew && wo.waiting.Len() > 0 && wo.burst < burstBytes) {
		h.running = false
		h.stopped.Broadcast()
		return false
	}
	wo.now, wo.applied = time.Now(), h.revision
	return true
}

// rearm lets the round's objects rest. Hub.mu is held.
func (wo *worker) rearm() {
	h := wo.hub
	if len(wo.ready) > 0 {
		now := time.Now()
		next := now.Add(h.rest(now.Sub(wo.now)))
		for _, x := range wo.ready {
			x.stage, x.next = objectQuiet, next
			if x.flags != 0 && h.objects[x.name] == x {
				h.mark(x, 0, now)
			}
		}
		wo.ready = emptied(wo.ready, keptItems)
	}
	var after time.Duration
	switch {
	case wo.waiting.Len() > 0:
		after = checkEvery
	case len(wo.cached) > 0:
		after = snapshotTime
	default:
		return
	}
	if at := time.Now().Add(after); h.checkAt.IsZero() || at.Before(h.checkAt) {
		h.checkAt = at
		h.arm()
	}
}

// takeReached takes the watches whose revision the replica has reached. Hub.mu is held.
func (wo *worker) takeReached() {
	h := wo.hub
	for len(wo.ahead.Items) > 0 && wo.ahead.First().revision <= h.revision {
		w := wo.ahead.First()
		wo.removeAhead(w)
		wo.queue = append(wo.queue, w)
	}
	h.awaited = 0
	if len(wo.ahead.Items) > 0 {
		h.awaited = wo.ahead.First().revision
	}
}

// add adds an opened watch to its topic, before the machine is read for the watch.
func (wo *worker) add(w *watch, r shard.Ref) {
	if w.over {
		return
	}
	h := wo.hub
	name := shard.ObjectName{Node: r.Node, Name: r.Name}
	x := h.objects[name]
	if x == nil {
		x = &object{name: name}
	}
	t := x.topicOf(part{kind: r.Kind, view: r.View}, wo)
	if t.count == 0 {
		h.counters.topics.Add(1)
	}
	if t.add(w) {
		h.mu.Lock()
		h.objects[name] = x
		x.interest = x.interests()
		h.mu.Unlock()
	}
	wo.queue = append(wo.queue, w)
}

// remove removes a watch.
func (wo *worker) remove(w *watch) {
	if w.over {
		return
	}
	h := wo.hub
	w.over = true
	h.open.Add(-1)
	h.options.Budget.Give(w.name)
	t := w.topic
	if t == nil {
		return
	}
	wo.release(w)
	wo.releaseSnapshot(w)
	wo.removeAhead(w)
	if !t.remove(w) {
		return
	}
	if t.count == 0 {
		h.counters.topics.Add(-1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	x := t.object
	if x.interest = x.interests(); x.count == 0 {
		delete(h.objects, x.name)
	}
}

// removeSubscriber removes a connection with its watches.
func (wo *worker) removeSubscriber(sub *subscriber) {
	for _, w := range sub.closeAll() {
		wo.remove(w)
	}
	wo.removeInflight(sub)
	sub.lost = true
}

// keptItems is the maximum number of items for which the worker's lists keep their memory; keptFrames is the same for
// frames in a plan.
const (
	keptItems  = 16 << 10
	keptFrames = 256
)

// emptied empties a list for reuse.
func emptied[T any](list []T, kept int) []T {
	if cap(list) > kept {
		return nil
	}
	clear(list)
	return list[:0]
}
