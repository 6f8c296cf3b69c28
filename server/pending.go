package server

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
// All bytes on their way to be sent are added up. When the sum may be too much, the bytes that really wait are
// counted. Connections are closed even when the count is only near the limit, so that the next count is some way off.
type pendingBytes struct {
	limit   int64
	counted atomic.Int64 // how many bytes waited at the latest count
	added   atomic.Int64 // how many bytes were handed over since
	over    atomic.Bool  // too much waited at the latest count

	counting sync.Mutex
}

// due reports whether it is time to count.
func (p *pendingBytes) due() bool { return p.counted.Load()+p.added.Load() > p.limit }

// add counts bytes that were handed over to be sent, and reports whether it is time to count the waiting bytes.
func (p *pendingBytes) add(n int) bool {
	return p.counted.Load()+p.added.Add(int64(n)) > p.limit
}

// relievePending counts the waiting bytes, and closes the connections with most of them until the rest is well within
// the limit. No lock of a connection may be held.
func (h *Host) relievePending() {
	p := &h.pending
	if !p.counting.TryLock() {
		return
	}
	defer p.counting.Unlock()
	p.added.Store(0) // first: later bytes are counted twice rather than not at all
	type slow struct {
		conn    *conn
		pending int64
	}
	var all []slow
	sum := int64(0)
	h.eachConn(func(c *conn) {
		if n := int64(c.peer.Pending()); n > 0 {
			all = append(all, slow{c, n})
			sum += n
		}
	})
	over := sum > p.limit/8*7
	if over {
		slices.SortFunc(all, func(a, b slow) int { return cmp.Compare(b.pending, a.pending) })
		for _, x := range all {
			if sum <= p.limit/4*3 {
				break
			}
			x.conn.cutOff(cutSlow, protocol.StatusOverloaded,
				"too much waits to be read by all clients of this host, and most of it by this one")
			sum -= x.pending
		}
	}
	p.over.Store(over)
	p.counted.Store(sum)
}
