package hub

import (
	"container/list"
	"slices"

	"github.com/signalbox/signalbox/protocol"
)

// pass looks at the watches of a topic that changed.
func (k *worker) pass(t *topic) {
	for w, list := range t.watches {
		if t.taken&wants(w).flags() == 0 {
			continue
		}
		for _, x := range list {
			k.attend(x)
			if k.spent > planBytes {
				k.deliver()
			}
		}
	}
}

// attendQueue looks at watches one by one. Where that is too much for one round the rest stays for the
// next, behind the topics that change meanwhile.
func (k *worker) attendQueue() {
	for _, l := range k.resume {
		if !l.reached && !l.lost {
			k.reach(l)
			k.catchUp(l)
		}
	}
	k.resume = again(k.resume, keptItems)
	done := 0
	for done < len(k.queue) && k.spent <= planBytes {
		k.attend(k.queue[done])
		done++
	}
	if done == len(k.queue) {
		k.queue = again(k.queue, keptItems)
		return
	}
	k.queue = slices.Delete(k.queue, 0, done)
}

// attend plans what brings a watch to the present, as far as its connection has room.
func (k *worker) attend(w *watch) {
	if w.over || w.last || w.link.lost {
		return
	}
	l := w.link
	if !l.reached {
		k.reach(l)
		k.catchUp(l)
	}
	if w.held != nil {
		return
	}
	k.leaveAhead(w)
	k.visit(w.topic)
	for l.room >= 0 {
		if w.reading != nil {
			if !k.mayFly(w) {
				k.hold(w, &k.turns)
				return
			}
			k.planPage(w)
			continue
		}
		n := k.news(w)
		if n.kind != newsWhole {
			k.planNews(w, n)
			return
		}
		if !k.startReading(w) {
			return
		}
	}
	k.hold(w, &l.late)
}

// planNews plans what is told in one frame, if anything is.
func (k *worker) planNews(w *watch, n *news) {
	switch n.kind {
	case newsAhead:
		k.ahead.add(w)
		k.hub.counters.ahead.Add(1)
		return
	case newsFrame:
		if n.absent && w.absent && w.begun {
			break
		}
		k.append(w, &n.push, false)
		w.revision, w.begun = n.to, true
		if n.snapshot {
			k.hub.counters.snapshots.Add(1)
		} else {
			k.hub.counters.deltas.Add(1)
		}
	}
	w.absent, w.missed = n.absent, false
}

// append plans a frame.
func (k *worker) append(w *watch, push *protocol.SharedPush, last bool) {
	l := w.link
	size := push.Size()
	l.plan = append(l.plan, frame{watch: w, push: push, last: last})
	l.planned += size
	l.room -= size
}

// reach makes a connection part of this round. One for which too much waits gets no room.
func (k *worker) reach(l *link) {
	l.reached = true
	l.room = k.hub.options.SlowBytes - l.sink.Pending()
	k.reached = append(k.reached, l)
}

// catchUp looks at the watches that were held back, longest first, while there is room for them.
func (k *worker) catchUp(l *link) {
	for l.room >= 0 && l.late.Len() > 0 && k.spent <= planBytes {
		w := l.late.Front().Value.(*watch)
		k.release(w)
		k.attend(w)
	}
}

// leaveAhead takes a watch out of those that ask for what is not there yet.
func (k *worker) leaveAhead(w *watch) {
	if w.waits > 0 {
		k.ahead.remove(w)
		k.hub.counters.ahead.Add(-1)
	}
}

// hold makes a watch wait: in the list of its connection until that has drained, or for its turn.
func (k *worker) hold(w *watch, in *list.List) {
	w.held, w.heldIn = in.PushBack(w), in
	w.missed = w.missed || w.begun
	if in != &k.turns {
		k.hub.counters.slow.Add(1)
	}
}

// release takes a watch out of the list that it waits in.
func (k *worker) release(w *watch) {
	if w.held == nil {
		return
	}
	w.heldIn.Remove(w.held)
	if w.heldIn != &k.turns {
		k.hub.counters.slow.Add(-1)
	}
	w.held, w.heldIn = nil, nil
}

// visit remembers to clear what was read of a topic when it has been delivered.
func (k *worker) visit(t *topic) {
	if !t.visited {
		t.visited = true
		k.visited = append(k.visited, t)
	}
}
