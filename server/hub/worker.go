package hub

import (
	"container/list"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// worker decides what becomes of the watches and appends it to their connections. All of it is used by one
// goroutine at a time, that which Hub.running stands for, and nothing of it needs a lock.
//
// It goes in rounds. In a round it takes what there is to do, plans frames for connections, and delivers
// the plans: all of a connection at once.
type worker struct {
	hub     *Hub
	encoder *protocol.Encoder
	now     time.Time      // when the round began
	applied shard.Revision // all up to here was applied when the round began

	tasks    []task
	ready    []*object
	queue    []*watch        // to be planned
	resume   []*subscriber   // whose held watches are to be planned
	ahead    ordered[*watch] // that ask for a revision that the replica has not reached, lowest first
	waiting  list.List       // watches whose snapshot waits until others have arrived
	cached   []*topic        // that have a snapshot
	checking bool

	// Of the planning since the last delivery.
	reached []*subscriber
	visited []*topic
	spent   int // of planBytes

	// What deliveries found, dealt with when the round is over: the lists that hold watches must not
	// change while they are walked.
	ended []*watch
	lost  []*subscriber

	inflight      []*subscriber // with bytes of snapshots that may not have arrived
	inflightBytes int           // those bytes, of all of them
	grew          bool          // some were delivered in this round

	// Kept to be used again.
	writing *subscriber // that write is for
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
	wo.ahead = ordered[*watch]{
		before: func(a, b *watch) bool { return a.revision < b.revision },
		place:  func(w *watch) *int { return &w.waits },
	}
	wo.write = wo.writePlan
	wo.owners.worker, wo.rows.worker = wo, wo
	wo.resync = wo.encoder.SharedPush(&protocol.WatchResync{})
}

// run works until there is nothing left to do.
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

// beginRound begins a round: it gives back what the last one was about, and takes what there is to do. It
// returns false, and the worker is not running any more, when there is nothing.
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
		!(wo.grew && wo.waiting.Len() > 0) {
		h.running = false
		h.stopped.Broadcast()
		return false
	}
	wo.now, wo.applied = time.Now(), h.revision
	return true
}

// rearm lets the objects of the round rest. Hub.mu is held.
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
	for len(wo.ahead.items) > 0 && wo.ahead.first().revision <= h.revision {
		w := wo.ahead.first()
		wo.removeAhead(w)
		wo.queue = append(wo.queue, w)
	}
	h.awaited = 0
	if len(wo.ahead.items) > 0 {
		h.awaited = wo.ahead.first().revision
	}
}

// add puts a watch that was opened into its topic, before the machine is read for it.
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

// remove lets go of a watch.
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

// removeSubscriber lets go of a connection.
func (wo *worker) removeSubscriber(sub *subscriber) {
	for _, w := range sub.closeAll() {
		wo.remove(w)
	}
	wo.removeInflight(sub)
	sub.lost = true
}

// keptItems is up to how many items a list of the worker keeps its memory, keptFrames a connection's plan.
const (
	keptItems  = 16 << 10
	keptFrames = 256
)

// emptied empties a list, to be filled again.
func emptied[T any](list []T, kept int) []T {
	if cap(list) > kept {
		return nil
	}
	clear(list)
	return list[:0]
}
