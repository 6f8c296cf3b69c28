package cluster

import (
	"slices"
	"sync/atomic"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// news reports to many goroutines at once that something has happened.
type news struct {
	next atomic.Pointer[chan struct{}]
}

func (n *news) init() {
	next := make(chan struct{})
	n.next.Store(&next)
}

// wait returns what is closed when it happens next.
func (n *news) wait() <-chan struct{} { return *n.next.Load() }

func (n *news) report() {
	next := make(chan struct{})
	close(*n.next.Swap(&next))
}

// Leaders returns what is closed once it becomes known who leads a shard in a new term.
func (c *Cluster) Leaders() <-chan struct{} { return c.leaders.wait() }

// Connected returns what is closed once there is another connection, to any host.
func (c *Cluster) Connected() <-chan struct{} { return c.connections.wait() }

// led learns who leads a shard, unless that was so in an earlier term only.
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
	} // else the host is asked where it is
	c.Moved(&moved, from)
	c.leaders.report()
}
