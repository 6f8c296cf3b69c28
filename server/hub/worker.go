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
	now     time.Time // when the round began

	errands []errand
	ready   []*topic
	queue   []*watch        // to be looked at
	resume  []*link         // whose held watches are to be looked at
	ahead   ordered[*watch] // that ask for a revision that the replica has not reached, lowest first
	turns   list.List       // watches whose snapshot waits until others have arrived
	cached  []*topic        // that have a snapshot
	looking bool

	// Of the planning since the last delivery.
	reached []*link
	visited []*topic
	spent   int // of planBytes

	// What deliveries found, dealt with when the round is over: the lists that hold watches must not
	// change while they are walked.
	ended []*watch
	lost  []*link

	flying []*link // with bytes of snapshots that may not have arrived
	flown  int     // those bytes, of all of them
	flew   bool    // some were delivered in this round

	// Kept to be used again.
	link    *link // that write is for
	write   func(*protocol.Encoder, *bytebufferpool.ByteBuffer)
	spare   []*change
	brief   shard.Description
	reading reading
	delta   protocol.WatchDelta
	whole   protocol.WatchSnapshot

	resync protocol.SharedPush
}

func (k *worker) init(h *Hub) {
	k.hub, k.encoder = h, protocol.NewEncoder()
	k.ahead = ordered[*watch]{
		before: func(a, b *watch) bool { return a.revision < b.revision },
		place:  func(w *watch) *int { return &w.waits },
	}
	k.write = k.writePlan
	k.resync = k.encoder.SharedPush(&protocol.WatchResync{})
}

// run works until there is nothing left to do.
func (k *worker) run() {
	for k.take() {
		for i := range k.errands {
			k.do(&k.errands[i])
		}
		k.errands = again(k.errands, keptItems)
		for _, t := range k.ready {
			k.pass(t)
		}
		k.admit()
		k.attendQueue()
		k.deliver()
		k.settle()
		k.tidy()
	}
}

// take begins a round: it gives back what the last one was about, and takes what there is to do. It
// returns false, and the worker is not running any more, when there is nothing.
func (k *worker) take() bool {
	h := k.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	k.giveBack()
	if h.closed {
		h.running = false
		h.stopped.Broadcast()
		return false
	}
	k.errands, h.errands = h.errands, k.errands
	k.ready, h.ready = h.ready, k.ready
	for _, t := range k.ready {
		t.stage = topicPassing
		t.taken, t.flags = t.flags, 0
	}
	k.takeReached()
	k.looking, h.looking = h.looking, false
	if len(k.errands)+len(k.ready)+len(k.queue)+len(k.resume) == 0 && !k.looking && !(k.flew && k.turns.Len() > 0) {
		h.running = false
		h.stopped.Broadcast()
		return false
	}
	k.now = time.Now()
	return true
}

// giveBack lets the topics of the round rest. Hub.mu is held.
func (k *worker) giveBack() {
	h := k.hub
	if len(k.ready) > 0 {
		now := time.Now()
		next := now.Add(h.rest(now.Sub(k.now)))
		for _, t := range k.ready {
			t.stage, t.next = topicQuiet, next
			if t.flags != 0 && h.topics[t.key()] == t {
				h.mark(t, 0, now)
			}
		}
		k.ready = again(k.ready, keptItems)
	}
	var after time.Duration
	switch {
	case k.turns.Len() > 0:
		after = lookEvery
	case len(k.cached) > 0:
		after = snapshotTime
	default:
		return
	}
	if at := time.Now().Add(after); h.look.IsZero() || at.Before(h.look) {
		h.look = at
		h.arm()
	}
}

// takeReached takes the watches whose revision the replica has reached. Hub.mu is held.
func (k *worker) takeReached() {
	h := k.hub
	for len(k.ahead.items) > 0 && k.ahead.first().revision <= h.revision {
		w := k.ahead.first()
		k.leaveAhead(w)
		k.queue = append(k.queue, w)
	}
	h.awaited = 0
	if len(k.ahead.items) > 0 {
		h.awaited = k.ahead.first().revision
	}
}

// enter puts a watch that was opened into its topic, before the machine is read for it.
func (k *worker) enter(w *watch, name shard.ObjectName) {
	if w.over {
		return
	}
	h := k.hub
	t := h.topics[name]
	if t == nil {
		t = &topic{node: name.Node, name: name.Name}
		h.counters.topics.Add(1)
	}
	if t.add(w) {
		h.mu.Lock()
		h.topics[name] = t
		t.interest = t.interests()
		h.mu.Unlock()
	}
	k.queue = append(k.queue, w)
}

// remove lets go of a watch.
func (k *worker) remove(w *watch) {
	if w.over {
		return
	}
	h := k.hub
	w.over = true
	h.open.Add(-1)
	h.options.Budget.Give(w.name)
	t := w.topic
	if t == nil {
		return
	}
	k.release(w)
	k.leaveSnapshot(w)
	k.leaveAhead(w)
	if !t.remove(w) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.interest = t.interests(); t.count == 0 {
		delete(h.topics, t.key())
		h.counters.topics.Add(-1)
	}
}

// dismiss lets go of a connection.
func (k *worker) dismiss(l *link) {
	for _, w := range l.leave() {
		k.remove(w)
	}
	k.land(l)
	l.lost = true
}

// keptItems is up to how many items a list of the worker keeps its memory, keptFrames a connection's plan.
const (
	keptItems  = 16 << 10
	keptFrames = 256
)

// again empties a list, to be filled again.
func again[T any](list []T, kept int) []T {
	if cap(list) > kept {
		return nil
	}
	clear(list)
	return list[:0]
}
