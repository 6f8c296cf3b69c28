package connection

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
)

// pendingBytes limits the unsent bytes across all connections. Every connection has its own limit, but thousands of
// clients may read nothing.
//
// add sums up all bytes handed over for sending. When counted plus added exceed the limit, the bytes that are really
// unsent are counted again. Connections are closed even if the count is only near the limit, so that the next count
// is not due immediately.
type pendingBytes struct {
	limit   int64
	counted atomic.Int64 // unsent bytes at the latest count
	added   atomic.Int64 // bytes handed over since
	over    atomic.Bool  // the latest count exceeded the limit

	counting sync.Mutex
}

// add records bytes that are handed over, and reports whether a recount is due.
func (p *pendingBytes) add(bytes int) bool {
	return p.counted.Load()+p.added.Add(int64(bytes)) > p.limit
}

// full reports whether a recount is due.
func (p *pendingBytes) full() bool { return p.counted.Load()+p.added.Load() > p.limit }

// relievePending counts the unsent bytes. If the total is near the limit, relievePending closes the connections with
// the most unsent bytes until the rest is well within the limit. No connection lock may be held.
func (s *Set) relievePending() {
	p := &s.pending
	if !p.counting.TryLock() {
		return
	}
	defer p.counting.Unlock()
	p.added.Store(0) // reset first: better to count later bytes twice than to miss them
	all, sum := s.fullest(func(c *Conn) int64 { return int64(c.peer.Pending()) })
	over := sum > p.limit/8*7
	if over {
		for _, x := range all {
			if sum <= p.limit/4*3 {
				break
			}
			x.conn.cutOff(cutSlow, protocol.StatusOverloaded,
				"too many unread bytes over all clients, and most bytes are waiting for this client")
			sum -= x.bytes
		}
	}
	p.over.Store(over)
	p.counted.Store(sum)
}

// partialBytes limits the bytes held for partially received frames across all connections. One connection holds less
// than a frame, but there may be thousands.
type partialBytes struct {
	limit int64
	held  atomic.Int64

	relieving sync.Mutex
}

// holdPartial records how many bytes the connection holds for a partially received frame. Called on the connection's
// event loop. If the total exceeds the limit, the connections with the most bytes are closed, possibly including this
// one.
func (c *Conn) holdPartial(bytes int64) {
	p, before := &c.set.partial, c.partial.Swap(bytes)
	if p.held.Add(bytes-before) > p.limit && bytes > before {
		c.set.relievePartial()
	}
}

// dropPartial releases the connection's partial bytes.
func (c *Conn) dropPartial() { c.set.partial.held.Add(-c.partial.Swap(0)) }

// relievePartial closes the connections that hold the most bytes until a quarter of the limit is free. No connection
// lock may be held.
func (s *Set) relievePartial() {
	p := &s.partial
	if !p.relieving.TryLock() {
		return
	}
	defer p.relieving.Unlock()
	all, _ := s.fullest(func(c *Conn) int64 { return c.partial.Load() })
	for _, x := range all {
		if p.held.Load() <= p.limit/4*3 {
			break
		}
		x.conn.dropPartial()
		x.conn.cutOff(cutPartial, protocol.StatusOverloaded,
			"too many bytes of partly received requests, and most bytes belong to this connection")
	}
}

// holding is the number of bytes the host holds for a connection.
type holding struct {
	conn  *Conn
	bytes int64
}

// fullest returns the connections for which the host holds bytes, largest first, and the sum.
func (s *Set) fullest(bytes func(*Conn) int64) (all []holding, sum int64) {
	s.each(func(c *Conn) {
		if n := bytes(c); n > 0 {
			all = append(all, holding{c, n})
			sum += n
		}
	})
	slices.SortFunc(all, func(a, b holding) int { return cmp.Compare(b.bytes, a.bytes) })
	return all, sum
}

// Held is the memory the host holds for connections, with the limits, in bytes.
type Held struct{ Pending, PendingLimit, Partial, PartialLimit int64 }

// Held returns the memory the host currently holds for connections.
func (s *Set) Held() Held {
	_, pending := s.fullest(func(c *Conn) int64 { return int64(c.peer.Pending()) })
	return Held{pending, s.pending.limit, s.partial.held.Load(), s.partial.limit}
}
