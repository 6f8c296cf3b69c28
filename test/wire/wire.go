//go:build linux

package wire

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// Direction is a direction of a wire.
type Direction int

// The directions.
const (
	Forward  Direction = iota // from the connecting side
	Backward                  // to the connecting side
)

// Both are both directions.
var Both = []Direction{Forward, Backward}

const (
	// chunkBytes is the chunk size, queuedChunks the maximum number of chunks in flight per direction. Further bytes
	// wait at their sender, as with a slow network.
	chunkBytes   = 16 << 10
	queuedChunks = 64
	// dialTimeout bounds connecting to a local host.
	dialTimeout = 2 * time.Second
)

// condition is the state of faults in one direction of a wire.
type condition struct {
	holds int // by how many faults nothing passes
	delay time.Duration
	rates []int // bytes per second, lowest counts; none for unlimited
}

// Wire forwards connections from one process to another, under faults. It is safe for concurrent use.
type Wire struct {
	address string // destination

	mu         sync.Mutex    // guards what follows
	conditions [2]condition  // by direction
	changed    chan struct{} // closed when the conditions have changed
	relays     map[*relay]bool
}

// relay is a pair of connections, one continuing the other.
type relay struct {
	wire *Wire
	ends [2]*net.TCPConn // connecting side, then destination
	gone chan struct{}   // closed when both are closed
	once sync.Once
	lost bool // nothing passes any more, and neither side notices; guarded by the wire's lock
}

// chunk is bytes in flight.
type chunk struct {
	bytes []byte
	due   time.Time
}

// New returns a wire to an address.
func New(address string) *Wire {
	return &Wire{address: address, changed: make(chan struct{}), relays: make(map[*relay]bool)}
}

// Forward continues a connection to the wire's destination. It returns when the connection has ended.
func (w *Wire) Forward(from *net.TCPConn) {
	c, err := net.DialTimeout("tcp", w.address, dialTimeout)
	if err != nil {
		reset(from)
		return
	}
	r := &relay{wire: w, ends: [2]*net.TCPConn{from, c.(*net.TCPConn)}, gone: make(chan struct{})}
	w.mu.Lock()
	w.relays[r] = true
	w.mu.Unlock()
	var work sync.WaitGroup
	for _, d := range Both {
		work.Go(func() { r.pass(d) })
	}
	work.Wait()
	r.close()
	w.mu.Lock()
	delete(w.relays, r)
	w.mu.Unlock()
}

// reset closes a connection so that the peer gets an error.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

func (r *relay) close() {
	r.once.Do(func() {
		close(r.gone)
		for _, c := range r.ends {
			reset(c)
		}
	})
}

// pass forwards the bytes of one direction.
func (r *relay) pass(d Direction) {
	from, to := r.ends[0], r.ends[1]
	if d == Backward {
		from, to = to, from
	}
	chunks := make(chan chunk, queuedChunks)
	var failed error
	go func() {
		defer close(chunks)
		for {
			buffer := make([]byte, chunkBytes)
			n, err := from.Read(buffer)
			if n > 0 {
				select {
				case chunks <- chunk{buffer[:n], r.wire.due(d)}:
				case <-r.gone:
					return
				}
			}
			if err != nil {
				failed = err
				return
			}
		}
	}()
	for x := range chunks {
		r.throttle(d, len(x.bytes))
		if !r.await(d, x.due) {
			return
		}
		if _, err := to.Write(x.bytes); err != nil {
			r.close()
			return
		}
	}
	// The end of a connection passes like its bytes.
	if !r.await(d, r.wire.due(d)) {
		return
	}
	if errors.Is(failed, io.EOF) {
		_ = to.CloseWrite()
		return
	}
	r.close()
}

// due is the earliest arrival time of bytes sent now.
func (w *Wire) due(d Direction) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.conditions[d].delay)
}

// await waits until bytes are due and may pass, and reports whether they may.
func (r *relay) await(d Direction, due time.Time) bool {
	if left := time.Until(due); left > 0 && !r.pause(left) {
		return false
	}
	for {
		r.wire.mu.Lock()
		blocked, changed := r.wire.conditions[d].holds > 0 || r.lost, r.wire.changed
		r.wire.mu.Unlock()
		if !blocked {
			return true
		}
		select {
		case <-changed:
		case <-r.gone:
			return false
		}
	}
}

// throttle waits for as long as so many bytes take.
func (r *relay) throttle(d Direction, n int) {
	r.wire.mu.Lock()
	rates := r.wire.conditions[d].rates
	r.wire.mu.Unlock()
	if len(rates) > 0 {
		r.pause(time.Duration(n) * time.Second / time.Duration(slices.Min(rates)))
	}
}

// pause waits, and reports whether the relay has not been closed meanwhile.
func (r *relay) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.gone:
		return false
	}
}

// change changes the condition of some directions, and wakes waiters.
func (w *Wire) change(directions []Direction, f func(*condition)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range directions {
		f(&w.conditions[d])
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// undisturbed reports whether nothing is wrong with the wire.
func (w *Wire) undisturbed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conditions {
		if c.holds > 0 || c.delay > 0 || len(c.rates) > 0 {
			return false
		}
	}
	return true
}

// Hold lets no bytes pass in these directions until the end. Neither side notices: connections stay, and new ones can
// be made.
func (w *Wire) Hold(directions ...Direction) (end func()) {
	w.change(directions, func(c *condition) { c.holds++ })
	return sync.OnceFunc(func() { w.change(directions, func(c *condition) { c.holds-- }) })
}

// Delay delays all bytes by a time more.
func (w *Wire) Delay(d time.Duration) (end func()) {
	w.change(Both, func(c *condition) { c.delay += d })
	return sync.OnceFunc(func() { w.change(Both, func(c *condition) { c.delay -= d }) })
}

// Throttle limits a connection's bytes per second. The lowest of several rates counts.
func (w *Wire) Throttle(rate int) (end func()) {
	w.change(Both, func(c *condition) { c.rates = append(slices.Clone(c.rates), rate) })
	return sync.OnceFunc(func() {
		w.change(Both, func(c *condition) {
			at := slices.Index(c.rates, rate)
			c.rates = slices.Delete(slices.Clone(c.rates), at, at+1)
		})
	})
}

// Reset breaks all present connections, and both sides notice.
func (w *Wire) Reset() {
	for _, r := range w.all() {
		r.close()
	}
}

// Lose silently drops all bytes on existing connections, as after a router restart: only new connections work. At the
// end of the fault the old connections break.
func (w *Wire) Lose() (end func()) {
	all := w.all()
	w.mu.Lock()
	for _, r := range all {
		r.lost = true
	}
	w.mu.Unlock()
	return sync.OnceFunc(func() {
		for _, r := range all {
			r.close()
		}
	})
}

func (w *Wire) all() (list []*relay) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.relays {
		list = append(list, r)
	}
	return list
}
