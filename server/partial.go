package server

import (
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
)

// partialBytes bounds the bytes of frames that have arrived in part, over all connections together. One connection
// holds less than a frame, but there may be thousands.
type partialBytes struct {
	limit int64
	held  atomic.Int64

	relieving sync.Mutex
}

// holdPartial notes how many bytes the connection holds of a frame that has arrived in part, on the connection's
// event loop. If all connections together hold too much, the fullest connections are closed, perhaps this one too.
func (h *Host) holdPartial(c *conn, bytes int) {
	if bytes == 0 && c.partial.Load() == 0 {
		return
	}
	before := c.partial.Swap(int64(bytes))
	if h.partial.held.Add(int64(bytes)-before) > h.partial.limit && int64(bytes) > before {
		h.relievePartial()
	}
}

// dropPartial gives back the bytes of the connection, and returns how many there were.
func (h *Host) dropPartial(c *conn) int64 {
	bytes := c.partial.Swap(0)
	h.partial.held.Add(-bytes)
	return bytes
}

// relievePartial closes the connections that hold most, until a quarter of the limit is free. No lock of a connection
// may be held.
func (h *Host) relievePartial() {
	p := &h.partial
	if !p.relieving.TryLock() {
		return
	}
	defer p.relieving.Unlock()
	all, _ := h.fullest(func(c *conn) int64 { return c.partial.Load() })
	for _, x := range all {
		if p.held.Load() <= p.limit/4*3 {
			break
		}
		h.dropPartial(x.conn)
		x.conn.cutOff(cutPartial, protocol.StatusOverloaded,
			"too much is held of requests that have arrived in part, and most of it of this connection")
	}
}
