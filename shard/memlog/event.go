package memlog

import "time"

// event is something that happens at a moment of virtual time. Its function runs under the lock of
// the network.
type event struct {
	at  time.Duration
	seq uint64 // orders events of the same moment by when they were scheduled
	run func()

	host *host  // on which it happens: held back while that is paused; nil for the network's own
	boot uint64 // the run of the host that it was scheduled for: it is void in a later one
	log  *Log   // the open log that it is a timer or a call of: it is void when that has ended

	link *link    // a message on its way: lost when the link is cut as it arrives
	to   *replica // whom the message is for
	came bool     // it has arrived, and was held back: a cut does not concern it any more

	anyway bool // it happens even while the log hangs on a stuck disk
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// schedule puts an event into the queue, the delay from now.
func (n *Network) schedule(delay time.Duration, e event) {
	e.at = n.now + max(delay, 0)
	n.lastSeq++
	e.seq = n.lastSeq
	if e.host != nil {
		e.boot = e.host.boot
	}
	var p *event
	if k := len(n.spare); k > 0 {
		p, n.spare = n.spare[k-1], n.spare[:k-1]
	} else {
		p = new(event)
	}
	*p = e
	n.events.push(p)
}

// fire lets the event happen, unless a fault is in its way.
func (n *Network) fire(e *event) {
	wait := e.waitingRoom()
	full := wait != nil && len(*wait) >= maxHeld
	switch {
	case e.link != nil && !e.came && (e.link.cut || full):
		n.trace.add(n.now, Record{Kind: RecordLost, Host: e.link.from.id, Peer: e.link.to.id})
	case e.host != nil && e.host.boot != e.boot:
	case e.log != nil && e.log.ended:
	case wait != nil:
		e.came = true
		*wait = append(*wait, e)
		return
	default:
		n.trace.fired(e)
		e.run()
	}
	n.recycle(e)
}

// waitingRoom is where the event has to wait now, or nil.
func (e *event) waitingRoom() *[]*event {
	l := e.log
	if e.to != nil {
		l = e.to.log
	}
	switch {
	case e.host != nil && e.host.paused:
		return &e.host.held
	case l != nil && l.hangs() && !e.anyway:
		return &l.held
	}
	return nil
}

// release lets happen what was held back. The messages among it are read after as long as their links
// take; the rest is overdue, so it comes before anything that is due now.
func (n *Network) release(held *[]*event) {
	for _, e := range *held {
		if e.link != nil {
			e.at = e.link.arrival(n)
			n.lastSeq++
			e.seq = n.lastSeq
		}
		n.events.push(e)
	}
	*held = nil
}

func (n *Network) recycle(e *event) {
	*e = event{}
	n.spare = append(n.spare, e)
}

// eventHeap is a binary heap of events, the earliest on top.
type eventHeap []*event

func (h eventHeap) peek() *event {
	if len(h) == 0 {
		return nil
	}
	return h[0]
}

func (h *eventHeap) push(e *event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = e
	*h = s
}

func (h *eventHeap) pop() *event {
	s := *h
	top, last := s[0], s[len(s)-1]
	s[len(s)-1] = nil
	s = s[:len(s)-1]
	*h = s
	if len(s) == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(s) {
			break
		}
		if right := down + 1; right < len(s) && s[right].before(s[down]) {
			down = right
		}
		if !s[down].before(last) {
			break
		}
		s[i] = s[down]
		i = down
	}
	s[i] = last
	return top
}
