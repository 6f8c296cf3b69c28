package memlog

import (
	"container/heap"
	"time"
)

// event happens at a virtual time. Its function runs under the network's lock.
type event struct {
	at  time.Duration
	seq uint64 // orders simultaneous events by schedule order
	run func()

	host *host  // location of the event; holds it back while paused; nil for the network's own events
	boot uint64 // process run at schedule time: the event is void in later runs
	log  *Log   // owner of the timer or call: the event is void after the log has ended

	path    *path    // for a message, lost if the path is cut on arrival
	to      *replica // receiver of the message
	arrived bool     // the message arrived and was held back: a later cut has no effect

	despiteStuckDisk bool // happens even while the log hangs on a stuck disk
}

// schedule adds an event to the queue, to happen after the delay.
func (n *Network) schedule(delay time.Duration, e event) {
	e.at = n.now + max(delay, 0)
	n.lastSeq++
	e.seq = n.lastSeq
	if e.host != nil {
		e.boot = e.host.boot
	}
	var p *event
	if k := len(n.free); k > 0 {
		p, n.free = n.free[k-1], n.free[:k-1]
	} else {
		p = new(event)
	}
	*p = e
	heap.Push(&n.events, p)
}

// fire runs the event, drops it, or holds it back, depending on active faults.
func (n *Network) fire(e *event) {
	held := e.heldIn()
	full := held != nil && len(*held) >= maxHeld
	switch {
	case e.path != nil && !e.arrived && (e.path.cut || full):
		n.trace.add(n.now, Record{Kind: RecordLost, Host: e.path.from.id, Peer: e.path.to.id})
	case e.host != nil && e.host.boot != e.boot:
	case e.log != nil && e.log.ended:
	case held != nil:
		e.arrived = true
		*held = append(*held, e)
		return
	default:
		n.trace.fired(e)
		e.run()
	}
	*e = event{}
	n.free = append(n.free, e)
}

// heldIn returns the list of held events of the event's paused host or stuck disk, or nil.
func (e *event) heldIn() *[]*event {
	l := e.log
	if e.to != nil {
		l = e.to.log
	}
	switch {
	case e.host != nil && e.host.paused:
		return &e.host.held
	case l != nil && l.hangs() && !e.despiteStuckDisk:
		return &l.held
	}
	return nil
}

// release requeues held events. Messages arrive after another path delay. All other events are overdue and happen
// first.
func (n *Network) release(held *[]*event) {
	for _, e := range *held {
		if e.path != nil {
			e.at = e.path.arrival(n)
			n.lastSeq++
			e.seq = n.lastSeq
		}
		heap.Push(&n.events, e)
	}
	*held = nil
}

// eventHeap is the event queue, earliest first. It implements heap.Interface.
type eventHeap []*event

func (h eventHeap) peek() *event {
	if len(h) == 0 {
		return nil
	}
	return h[0]
}

func (h eventHeap) Len() int      { return len(h) }
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}

// Push adds an event at the end.
func (h *eventHeap) Push(e any) { *h = append(*h, e.(*event)) }

// Pop removes the event at the end.
func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
