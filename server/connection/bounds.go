package connection

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
)

// pendingBytes bounds the bytes that wait to be sent over all connections together. Each connection has a bound of
// its own, but there may be thousands with clients that read nothing.
//
// All bytes on their way to be sent are added up. When counted and added are together above the limit, the bytes that
// really wait are counted. Connections are closed even when the count is only near the limit, so that the next count
// is some way off.
type pendingBytes struct {
	limit   int64
	counted atomic.Int64 // how many bytes waited at the latest count
	added   atomic.Int64 // how many bytes were handed over since
	over    atomic.Bool  // too much waited at the latest count

	counting sync.Mutex
}

// add notes bytes that are handed over, and reports whether the bytes are to be counted.
func (p *pendingBytes) add(bytes int) bool {
	return p.counted.Load()+p.added.Add(int64(bytes)) > p.limit
}

// full reports whether the bytes are to be counted.
func (p *pendingBytes) full() bool { return p.counted.Load()+p.added.Load() > p.limit }

// relievePending counts the waiting bytes, and closes the connections with most of them until the rest is well within
// the limit. No lock of a connection may be held.
func (s *Set) relievePending() {
	p := &s.pending
	if !p.counting.TryLock() {
		return
	}
	defer p.counting.Unlock()
	p.added.Store(0) // first: later bytes are counted twice rather than not at all
	all, sum := s.fullest(func(c *Conn) int64 { return int64(c.peer.Pending()) })
	over := sum > p.limit/8*7
	if over {
		for _, x := range all {
			if sum <= p.limit/4*3 {
				break
			}
			x.conn.cutOff(cutSlow, protocol.StatusOverloaded,
				"too much waits to be read by all clients of this host, and most of it by this one")
			sum -= x.bytes
		}
	}
	p.over.Store(over)
	p.counted.Store(sum)
}

// partialBytes bounds the bytes of frames that have arrived in part, over all connections together. One connection
// holds less than a frame, but there may be thousands.
type partialBytes struct {
	limit int64
	held  atomic.Int64

	relieving sync.Mutex
}

// holdPartial notes how many bytes the connection holds of a frame that has arrived in part, on the connection's
// event loop. If all connections together hold too much, the fullest connections are closed, perhaps this one too.
func (c *Conn) holdPartial(bytes int64) {
	p, before := &c.set.partial, c.partial.Swap(bytes)
	if p.held.Add(bytes-before) > p.limit && bytes > before {
		c.set.relievePartial()
	}
}

// dropPartial gives back the bytes of the connection.
func (c *Conn) dropPartial() { c.set.partial.held.Add(-c.partial.Swap(0)) }

// relievePartial closes the connections that hold most, until a quarter of the limit is free. No lock of a connection
// may be held.
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
			"too much is held of requests that have arrived in part, and most of it of this connection")
	}
}

// holding is how many bytes a connection makes the host hold.
type holding struct {
	conn  *Conn
	bytes int64
}

// fullest returns the connections that make the host hold bytes, those with most of them first, and the sum.
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

// Held is what connections make the host hold, with the limits, in bytes.
type Held struct{ Pending, PendingLimit, Partial, PartialLimit int64 }

// Held returns what connections make the host hold now.
func (s *Set) Held() Held {
	_, pending := s.fullest(func(c *Conn) int64 { return int64(c.peer.Pending()) })
	return Held{pending, s.pending.limit, s.partial.held.Load(), s.partial.limit}
}
