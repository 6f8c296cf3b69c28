package hub

import (
	"slices"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// fewSubscribers is how many connections a round may reach and yet sends what is for them by itself. Where there are
// more, event loops share the work.
const fewSubscribers = 16

// deliver appends what is planned, all frames of a connection in one go, and flushes each connection once.
func (wo *worker) deliver() {
	few := len(wo.reached) <= fewSubscribers
	for _, l := range wo.reached {
		l.reached = false
		if len(l.plan) > 0 {
			wo.deliverTo(l, few)
		}
		if l.late.Len() > 0 && !l.lost && l.sink.Pending() <= wo.hub.options.SlowBytes {
			// The plan was full, but the connection took it: it will not say that it has drained.
			wo.resume = append(wo.resume, l)
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

// deliverTo carries out the plan for one connection.
func (wo *worker) deliverTo(l *subscriber, few bool) {
	wo.writing = l
	ended := len(wo.ended)
	l.mu.Lock()
	there := l.sink.Append(wo.write)
	l.mu.Unlock()
	wo.writing = nil
	if there {
		for _, w := range wo.ended[ended:] {
			l.sink.Ended(w.id)
		}
		l.sink.Flush(few)
	} else {
		l.lost = true
		wo.lost = append(wo.lost, l)
	}
	l.plan, l.planned = emptied(l.plan, keptFrames), 0
}

// writePlan is called by the sink with its stream locked, and with the lock of the subscriber held: a watch that
// was stopped before gets nothing more.
func (wo *worker) writePlan(e *protocol.Encoder, buf *bytebufferpool.ByteBuffer) {
	l := wo.writing
	buf.B = slices.Grow(buf.B, l.planned)
	before := len(buf.B)
	for i := range l.plan {
		f := &l.plan[i]
		w := f.watch
		if w.closed {
			continue
		}
		f.push.Push(e, buf, w.id)
		if f.last {
			w.closed = true
			delete(l.watches, w.id)
			wo.ended = append(wo.ended, w)
		}
	}
	wo.hub.counters.bytes.Add(uint64(len(buf.B) - before))
}

// finishRound: settle ends a round: it lets go of what the deliveries ended, and of connections that they found gone.
func (wo *worker) finishRound() {
	for _, w := range wo.ended {
		wo.remove(w)
	}
	wo.ended = emptied(wo.ended, keptItems)
	h := wo.hub
	for _, l := range wo.lost {
		h.mu.Lock()
		if h.subscribers[l.sink] == l {
			delete(h.subscribers, l.sink)
		}
		h.mu.Unlock()
		wo.removeSubscriber(l)
	}
	wo.lost = emptied(wo.lost, keptItems)
}
