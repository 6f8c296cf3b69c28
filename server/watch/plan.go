package watch

import (
	"container/list"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// planObject plans a changed object's watches.
func (wo *worker) planObject(x *object) {
	if x.semaphore.count > 0 {
		wo.planTopic(&x.semaphore, x.taken)
	}
	for _, t := range x.views {
		if wo.isUnchanged(t) {
			continue
		}
		t.missed = false
		wo.planTopic(t, everything)
		if t.seen = wo.applied; t.missed {
			t.seen = 0
		}
	}
}

// isUnchanged reports whether a view's watches have nothing new since the worker last checked them. The check reads
// the machine once, however many watches there are, and reuses the answer if there is something to send.
func (wo *worker) isUnchanged(t *topic) bool {
	w := t.watches[wantsData|wantsOwners][0]
	if t.seen == 0 || !w.begun || w.revision > t.seen || wo.change(t, w.revision).kind != shard.DeltaNone {
		return false
	}
	t.seen = max(t.seen, wo.applied)
	return true
}

// planTopic plans a changed topic's watches.
func (wo *worker) planTopic(t *topic, flags shard.EffectFlags) {
	for w, list := range t.watches {
		if flags&wants(w).flags() == 0 {
			continue
		}
		for _, x := range list {
			wo.planWatch(x)
			if wo.spent > planBytes {
				wo.deliver()
			}
		}
	}
}

// planQueue plans watches one by one. If the queue is too long for one round, the rest is planned in the next round,
// after the topics that changed meanwhile.
func (wo *worker) planQueue() {
	for _, sub := range wo.resume {
		if !sub.reached && !sub.lost {
			wo.reach(sub)
			wo.planLate(sub)
		}
	}
	wo.resume = emptied(wo.resume, keptItems)
	done := 0
	for done < len(wo.queue) && wo.spent <= planBytes {
		wo.planWatch(wo.queue[done])
		done++
	}
	if done == len(wo.queue) {
		wo.queue = emptied(wo.queue, keptItems)
		return
	}
	wo.queue = slices.Delete(wo.queue, 0, done)
}

// planWatch plans the frames that bring a watch up to date, as far as its connection accepts frames.
func (wo *worker) planWatch(w *watch) {
	if w.over || w.last || w.subscriber.lost {
		return
	}
	sub := w.subscriber
	if !sub.reached {
		wo.reach(sub)
		wo.planLate(sub)
	}
	if w.held != nil {
		return
	}
	wo.removeAhead(w)
	wo.visit(w.topic)
	for sub.room >= 0 {
		if w.reading != nil {
			if !wo.mayPlanPage(w) {
				wo.hold(w, &wo.waiting)
				return
			}
			wo.planPage(w)
			continue
		}
		n := wo.updateOf(w)
		if n.kind != updateWhole {
			wo.planUpdate(w, n)
			return
		}
		if !wo.startReading(w) {
			w.topic.missed = true
			return
		}
	}
	wo.hold(w, &sub.late)
}

// planUpdate plans an update with at most one frame.
func (wo *worker) planUpdate(w *watch, n *update) {
	switch n.kind {
	case updateAhead:
		wo.ahead.Push(w)
		wo.hub.counters.ahead.Add(1)
		return
	case updateFrame:
		if n.absent && w.absent && w.begun {
			break
		}
		if !n.snapshot && n.to <= w.revision {
			wo.hub.options.Halt(fmt.Errorf("%w: a delta leads from %d to %d", errRevisions, w.revision, n.to))
			return
		}
		wo.append(w, &n.push, false)
		w.revision, w.begun = n.to, true
		if n.snapshot {
			wo.hub.counters.snapshots.Add(1)
		} else {
			wo.hub.counters.deltas.Add(1)
		}
	}
	w.absent, w.missed = n.absent, false
}

// append plans a frame.
func (wo *worker) append(w *watch, push *protocol.SharedPush, last bool) {
	sub := w.subscriber
	size := push.Size()
	sub.plan = append(sub.plan, frame{watch: w, push: push, last: last})
	sub.planned += size
	sub.room -= size
}

// reach adds a connection to this round. A connection with too many unsent bytes gets no frames.
func (wo *worker) reach(sub *subscriber) {
	sub.reached = true
	sub.room = wo.hub.options.SlowBytes - sub.sink.Pending()
	wo.reached = append(wo.reached, sub)
}

// planLate plans the held watches, longest waiting first, while the connection accepts frames.
func (wo *worker) planLate(sub *subscriber) {
	for sub.room >= 0 && sub.late.Len() > 0 && wo.spent <= planBytes {
		w := sub.late.Front().Value.(*watch)
		wo.release(w)
		wo.planWatch(w)
	}
}

// removeAhead removes a watch from the list of watches whose revision is above the replica's.
func (wo *worker) removeAhead(w *watch) {
	if w.waits > 0 {
		wo.ahead.Remove(w.waits - 1)
		w.waits = 0
		wo.hub.counters.ahead.Add(-1)
	}
}

// hold makes a watch wait: in its connection's list until the connection has drained, or in wo.waiting until other
// snapshots have been sent.
func (wo *worker) hold(w *watch, in *list.List) {
	w.held, w.heldIn = in.PushBack(w), in
	w.missed = w.missed || w.begun
	if in != &wo.waiting {
		wo.hub.counters.slow.Add(1)
	}
}

// release removes a waiting watch from its list.
func (wo *worker) release(w *watch) {
	if w.held == nil {
		return
	}
	w.heldIn.Remove(w.held)
	if w.heldIn != &wo.waiting {
		wo.hub.counters.slow.Add(-1)
	}
	w.held, w.heldIn = nil, nil
}

// visit records that a topic's changes must be cleared after the delivery.
func (wo *worker) visit(t *topic) {
	if !t.visited {
		t.visited = true
		wo.visited = append(wo.visited, t)
	}
}
