package watch

import (
	"sync"

	"github.com/signalbox/signalbox/internal/throttle"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
)

// Watches opens watches outside the event loops, connection by connection, with a quarter of a processor. A loop
// reads connections in order of arrival, so opening a crowd's watches on the loop would delay all other clients.
type Watches struct {
	*handle.Host

	mu      sync.Mutex // guards the fields below
	waiting []handle.Connection
	of      map[handle.Connection]*openings
	running bool
}

// openings are a connection's watches that are not open yet.
type openings struct {
	unopened []func() // waiting for their turn
	// stops maps watch ids to the tickets of their WATCH_STOPs. A ticket without a connection means that no stop has
	// arrived.
	stops map[uint64]handle.Ticket
}

// New returns empty Watches.
func New(h *handle.Host) *Watches {
	return &Watches{Host: h, of: make(map[handle.Connection]*openings)}
}

// openings returns a connection's watches. The lock is held.
func (w *Watches) openings(c handle.Connection) *openings {
	o := w.of[c]
	if o == nil {
		o = &openings{stops: make(map[uint64]handle.Ticket)}
		w.of[c] = o
	}
	return o
}

// forget drops a connection's entry if it has no watches. The lock is held.
func (w *Watches) forget(c handle.Connection) {
	if o := w.of[c]; o != nil && len(o.unopened)+len(o.stops) == 0 {
		delete(w.of, c)
	}
}

// mostUnopened is the maximum number of waiting watches per connection. Above it, Add's caller opens watches itself,
// because too many unanswered requests would be refused.
const mostUnopened = 1024

// Add queues a connection's watch for opening. open appends the answer.
func (w *Watches) Add(c handle.Connection, open func()) {
	w.mu.Lock()
	o := w.openings(c)
	if len(o.unopened) == mostUnopened {
		w.mu.Unlock()
		open()
		c.Flush(true)
		return
	}
	defer w.mu.Unlock()
	if o.unopened = append(o.unopened, open); len(o.unopened) == 1 {
		w.waiting = append(w.waiting, c)
	}
	if !w.running {
		w.running = true
		go w.run()
	}
}

// next takes the watches of the connection that has waited longest. If there are none, run is about to end.
func (w *Watches) next() (c handle.Connection, opens []func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		w.waiting, w.running = nil, false
		return nil, nil
	}
	c, w.waiting = w.waiting[0], w.waiting[1:]
	o := w.of[c]
	opens, o.unopened = o.unopened, nil
	w.forget(c)
	return c, opens
}

// run opens the waiting watches. All answers to a connection are sent together.
func (w *Watches) run() {
	p := throttle.Quarter()
	p.Work()
	for c, opens := w.next(); c != nil; c, opens = w.next() {
		for _, open := range opens {
			open()
			p.Pause(nil)
			p.Work()
		}
		c.Flush(true)
	}
}

// begin records that a watch waits to be opened. begin returns false if a watch with this id is already waiting.
func (w *Watches) begin(c handle.Connection, id uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.openings(c)
	if _, is := o.stops[id]; is {
		return false
	}
	o.stops[id] = handle.Ticket{}
	return true
}

// stopOpening records the WATCH_STOP for a watch being opened. taken is false if another stop arrived before.
func (w *Watches) stopOpening(c handle.Connection, id uint64, t handle.Ticket) (opening, taken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.of[c]
	if o == nil {
		return false, false
	}
	before, opening := o.stops[id]
	if taken = opening && before.Conn == nil; taken {
		o.stops[id] = t
	}
	return opening, taken
}

// finish executes the WATCH_STOP that arrived while the watch was being opened.
func (w *Watches) finish(rp *replica.Replica, c handle.Connection, id uint64) {
	w.mu.Lock()
	o := w.of[c]
	stop := o.stops[id]
	delete(o.stops, id)
	w.forget(c)
	w.mu.Unlock()
	if stop.Conn != nil {
		stop.Append(stopAt(c, id, rp))
	}
}
