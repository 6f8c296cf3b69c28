package cluster

import (
	"slices"
	"sync/atomic"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// news reports an event to many goroutines at once.
type news struct {
	next atomic.Pointer[chan struct{}]
}

func (n *news) init() {
	next := make(chan struct{})
	n.next.Store(&next)
}

// wait returns a channel that is closed at the next event.
func (n *news) wait() <-chan struct{} { return *n.next.Load() }

func (n *news) report() {
	next := make(chan struct{})
	close(*n.next.Swap(&next))
}

// Leaders returns a channel that is closed once a shard's leader in a new term becomes known.
func (c *Cluster) Leaders() <-chan struct{} { return c.leaders.wait() }

// Connected returns a channel that is closed once a new connection to any host is established.
func (c *Cluster) Connected() <-chan struct{} { return c.connections.wait() }

// led records a shard's leader, unless the report is about an earlier term.
func (c *Cluster) led(m *protocol.RoutingChanged, from *conn.Conn) {
	c.mu.Lock()
	if m.Term <= c.terms[m.ShardID] {
		c.mu.Unlock()
		return
	}
	c.terms[m.ShardID] = m.Term
	known := slices.ContainsFunc(c.hosts, func(h *Host) bool { return h.id == m.LeaderHostID })
	c.mu.Unlock()
	moved := protocol.Moved{ShardID: m.ShardID}
	if known {
		moved.LeaderHostID = m.LeaderHostID
	} // else Moved asks for the routing
	c.Moved(&moved, from)
	c.leaders.report()
}
