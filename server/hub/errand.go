package hub

import (
	"maps"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// errandKind says what the worker is asked to do.
type errandKind uint8

const (
	errandOpen      errandKind = iota // watch, name: bring it to the present, and keep it there
	errandStop                        // watch
	errandGone                        // link
	errandDrain                       // link
	errandEnd                         // result
	errandEndNode                     // name.Node, result
	errandEndAhead                    // at, result
	errandEndUnless                   // link, may, result
)

// errand is something that the worker is asked to do. They are done in the order in which they were left.
type errand struct {
	kind   errandKind
	watch  *watch
	link   *link
	name   shard.ObjectName
	result *protocol.Result
	at     time.Time
	may    func(shard.NodeID) bool
}

// leave leaves an errand for the worker.
func (h *Hub) leave(e errand) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.errands = append(h.errands, e)
	h.wake()
}

// do does an errand.
func (k *worker) do(e *errand) {
	switch e.kind {
	case errandOpen:
		k.enter(e.watch, e.name)
	case errandStop:
		k.remove(e.watch)
	case errandGone:
		k.dismiss(e.link)
	case errandDrain:
		k.resume = append(k.resume, e.link)
	case errandEnd:
		last := k.farewell(e.result)
		for _, t := range k.hub.topics {
			k.endTopic(t, last)
		}
	case errandEndNode:
		last := k.farewell(e.result)
		for _, t := range k.hub.topics {
			if t.node == e.name.Node {
				k.endTopic(t, last)
			}
		}
	case errandEndAhead:
		k.endAhead(e)
	case errandEndUnless:
		k.endUnless(e)
	}
}

// farewell encodes a WatchEnd.
func (k *worker) farewell(result *protocol.Result) *protocol.SharedPush {
	push := k.encoder.SharedPush(&protocol.WatchEnd{Result: *result})
	return &push
}

func (k *worker) endTopic(t *topic, last *protocol.SharedPush) {
	for _, list := range t.watches {
		for _, w := range list {
			k.end(w, last)
		}
	}
}

// endAhead ends the watches that ask for what never was, and looks at the others once more.
func (k *worker) endAhead(e *errand) {
	last := k.farewell(e.result)
	var all []*watch
	for _, w := range k.ahead.items {
		if w.opened.Before(e.at) {
			all = append(all, w)
		}
	}
	for _, w := range all {
		if k.change(w.topic, w.revision).kind == shard.DeltaBehind {
			k.end(w, last)
		} else {
			k.queue = append(k.queue, w)
		}
	}
}

// endUnless ends the watches of a connection in nodes that it may not watch. One that has no topic yet is opened by a
// later errand, and whoever opened it looks whether it may stay.
func (k *worker) endUnless(e *errand) {
	last := k.farewell(e.result)
	e.link.mu.Lock()
	all := slices.Collect(maps.Values(e.link.watches))
	e.link.mu.Unlock()
	for _, w := range all {
		if w.topic != nil && !e.may(w.topic.node) {
			k.end(w, last)
		}
	}
}

// end plans the end of a watch, whatever room its connection has.
func (k *worker) end(w *watch, last *protocol.SharedPush) {
	if w.over || w.last {
		return
	}
	if !w.link.reached {
		k.reach(w.link)
	}
	k.append(w, last, true)
	w.last = true
}
