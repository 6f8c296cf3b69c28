package server

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
)

// pendingBytes bounds what waits to be sent over all connections together. What one connection may have is
// bounded by itself, but there may be thousands that read nothing.
//
// Everything that is handed over to be sent is added up. When that could be too much, the caller that finds it so
// counts what really waits; that it is near the limit is enough for closing connections, so that the next count is some
// way off.
type pendingBytes struct {
	limit   int64
	counted atomic.Int64 // what waited at the latest count
	added   atomic.Int64 // what was handed over since
	over    atomic.Bool  // too much waited at the latest count

	counting sync.Mutex
}

// due reports whether it is time to count.
func (p *pendingBytes) due() bool { return p.counted.Load()+p.added.Load() > p.limit }

// add counts what was handed over to be sent, and reports whether it is time to count what waits.
func (p *pendingBytes) add(n int) bool {
	return p.counted.Load()+p.added.Add(int64(n)) > p.limit
}

// relievePending counts what waits, and closes the connections over which most of it does until the rest is well
// within the limit. No lock of a connection may be held.
func (h *Host) relievePending() {
	p := &h.pending
	if !p.counting.TryLock() {
		return
	}
	defer p.counting.Unlock()
	p.added.Store(0) // first: what comes meanwhile is counted twice rather than not at all
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
