package watch

import (
	"maps"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// taskKind is a kind of request to the worker.
type taskKind uint8

const (
	taskOpen      taskKind = iota // watch, ref: bring the watch up to date, and keep it so
	taskStop                      // watch
	taskGone                      // subscriber
	taskDrain                     // subscriber
	taskEnd                       // may, result
	taskEndAhead                  // at, result
	taskEndUnless                 // subscriber, may, result
)

// task is a request to the worker. The worker executes tasks in the order in which they were enqueued.
type task struct {
	kind       taskKind
	watch      *watch
	subscriber *subscriber
	ref        shard.Ref
	result     *protocol.Result
	at         time.Time
	may        func(shard.ObjectName) bool
}

// enqueue adds a task for the worker.
func (h *Hub) enqueue(e task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.tasks = append(h.tasks, e)
	h.wake()
}

// do executes a task.
func (wo *worker) do(e *task) {
	switch e.kind {
	case taskOpen:
		wo.add(e.watch, e.ref)
	case taskStop:
		wo.remove(e.watch)
	case taskGone:
		wo.removeSubscriber(e.subscriber)
	case taskDrain:
		wo.resume = append(wo.resume, e.subscriber)
	case taskEnd:
		last := wo.watchEnd(e.result)
		for name, x := range wo.hub.objects {
			if !e.may(name) {
				wo.endObject(x, last)
			}
		}
	case taskEndAhead:
		wo.endAhead(e)
	case taskEndUnless:
		wo.endUnless(e)
	}
}

// watchEnd encodes a WatchEnd.
func (wo *worker) watchEnd(result *protocol.Result) *protocol.SharedPush {
	push := wo.encoder.SharedPush(&protocol.WatchEnd{Result: *result})
	return &push
}

func (wo *worker) endObject(x *object, last *protocol.SharedPush) {
	x.all(func(t *topic) {
		for _, list := range t.watches {
			for _, w := range list {
				wo.end(w, last)
			}
		}
	})
}

// endAhead ends the watches with a revision that never existed, and plans the others again.
func (wo *worker) endAhead(e *task) {
	last := wo.watchEnd(e.result)
	var all []*watch
	for _, w := range wo.ahead.Items {
		if w.opened.Before(e.at) {
			all = append(all, w)
		}
	}
	for _, w := range all {
		if wo.change(w.topic, w.revision).kind == shard.DeltaBehind {
			wo.end(w, last)
		} else {
			wo.queue = append(wo.queue, w)
		}
	}
}

// endUnless ends a connection's watches in nodes the connection may not watch. A watch without a topic is opened by a
// later task, and its opener checks whether the watch may stay.
func (wo *worker) endUnless(e *task) {
	last := wo.watchEnd(e.result)
	e.subscriber.mu.Lock()
	all := slices.Collect(maps.Values(e.subscriber.watches))
	e.subscriber.mu.Unlock()
	for _, w := range all {
		if w.topic != nil && !e.may(w.topic.object.name) {
			wo.end(w, last)
		}
	}
}

// end plans a watch's end, even if its connection accepts no frames.
func (wo *worker) end(w *watch, last *protocol.SharedPush) {
	if w.over || w.last {
		return
	}
	if !w.subscriber.reached {
		wo.reach(w.subscriber)
	}
	wo.append(w, last, true)
	w.last = true
}
