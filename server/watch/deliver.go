package watch

import (
	"slices"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// fewSubscribers is the maximum number of connections for which a round sends the frames itself. With more
// connections, event loops share the work.
const fewSubscribers = 16

// deliver appends the planned frames, all of a connection's frames together, and flushes every connection once.
func (wo *worker) deliver() {
	few := len(wo.reached) <= fewSubscribers
	for _, sub := range wo.reached {
		sub.reached = false
		if len(sub.plan) > 0 {
			wo.deliverTo(sub, few)
		}
		if sub.late.Len() > 0 && !sub.lost && sub.sink.Pending() <= wo.hub.options.SlowBytes {
			// The plan was full, but the connection accepted everything, and so will not report a drain later.
			wo.resume = append(wo.resume, sub)
		}
	}
	wo.reached = emptied(wo.reached, keptItems)
	for _, t := range wo.visited {
		t.visited = false
		wo.forgetChanges(t)
	}
	wo.visited = emptied(wo.visited, keptItems)
	wo.spent = 0
}

// deliverTo delivers one connection's plan.
func (wo *worker) deliverTo(sub *subscriber, few bool) {
	wo.writing = sub
	ended := len(wo.ended)
	sub.mu.Lock()
	there := sub.sink.Append(wo.write)
	sub.mu.Unlock()
	wo.writing = nil
	if there {
		for _, w := range wo.ended[ended:] {
			sub.sink.Ended(w.id)
		}
		sub.sink.Flush(few)
	} else {
		sub.lost = true
		wo.lost = append(wo.lost, sub)
	}
	sub.plan, sub.planned = emptied(sub.plan, keptFrames), 0
}

// writePlan appends the plan for the connection in wo.writing. The sink calls it with the stream locked, and the
// subscriber's lock is held as well: a watch that was stopped before gets no further frame.
func (wo *worker) writePlan(e *protocol.Encoder, buf *bytebufferpool.ByteBuffer) {
	sub := wo.writing
	buf.B = slices.Grow(buf.B, sub.planned)
	before := len(buf.B)
	for i := range sub.plan {
		f := &sub.plan[i]
		w := f.watch
		if w.closed {
			continue
		}
		f.push.Push(e, buf, w.id)
		if f.last {
			w.closed = true
			delete(sub.watches, w.id)
			wo.ended = append(wo.ended, w)
		}
	}
	wo.hub.counters.bytes.Add(uint64(len(buf.B) - before))
}

// finishRound ends a round: it removes the watches the deliveries ended, and closed connections.
func (wo *worker) finishRound() {
	for _, w := range wo.ended {
		wo.remove(w)
	}
	wo.ended = emptied(wo.ended, keptItems)
	h := wo.hub
	for _, sub := range wo.lost {
		h.mu.Lock()
		if h.subscribers[sub.sink] == sub {
			delete(h.subscribers, sub.sink)
		}
		h.mu.Unlock()
		wo.removeSubscriber(sub)
	}
	wo.lost = emptied(wo.lost, keptItems)
}
