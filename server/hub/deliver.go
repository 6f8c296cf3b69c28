package hub

import (
	"slices"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// fewLinks is how many connections a round may reach and yet sends what is for them by itself. Where there are more, event loops
// share the work.
const fewLinks = 16

// deliver appends what is planned, all frames of a connection in one go, and flushes each connection once.
func (k *worker) deliver() {
	few := len(k.reached) <= fewLinks
	for _, l := range k.reached {
		l.reached = false
		if len(l.plan) > 0 {
			k.deliverTo(l, few)
		}
		if l.late.Len() > 0 && !l.lost && l.sink.Pending() <= k.hub.options.SlowBytes {
			// The plan was full, but the connection took it: it will not say that it has drained.
			k.resume = append(k.resume, l)
		}
	}
	k.reached = again(k.reached, keptItems)
	for _, t := range k.visited {
		t.visited = false
		k.forgetChanges(t)
	}
	k.visited = again(k.visited, keptItems)
	k.spent = 0
}

// deliverTo carries out the plan for one connection.
func (k *worker) deliverTo(l *link, few bool) {
	k.link = l
	ended := len(k.ended)
	l.mu.Lock()
	there := l.sink.Append(k.write)
	l.mu.Unlock()
	k.link = nil
	if there {
		for _, w := range k.ended[ended:] {
			l.sink.Ended(w.id)
		}
		l.sink.Flush(few)
	} else {
		l.lost = true
		k.lost = append(k.lost, l)
	}
	l.plan, l.planned = again(l.plan, keptFrames), 0
}

// writePlan is called by the sink with its stream locked, and with the lock of the link held: a watch that
// was stopped before gets nothing more.
func (k *worker) writePlan(e *protocol.Encoder, buf *bytebufferpool.ByteBuffer) {
	l := k.link
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
			k.ended = append(k.ended, w)
		}
	}
	k.hub.counters.bytes.Add(uint64(len(buf.B) - before))
}

// settle ends a round: it lets go of what the deliveries ended, and of connections that they found gone.
func (k *worker) settle() {
	for _, w := range k.ended {
		k.remove(w)
	}
	k.ended = again(k.ended, keptItems)
	h := k.hub
	for _, l := range k.lost {
		h.mu.Lock()
		if h.links[l.sink] == l {
			delete(h.links, l.sink)
		}
		h.mu.Unlock()
		k.dismiss(l)
	}
	k.lost = again(k.lost, keptItems)
}
