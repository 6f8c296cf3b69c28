package servertest

import (
	"net"

	"github.com/signalbox/signalbox/shard"
)

// Net is the faults of the cluster's logs that are not offered here.
func (c *Cluster) Net() Faults { return c.logs }

// Leader returns a shard's leader, as known by the log itself; 0 if there is none. The meta shard is shard 0, data
// shards count from 1.
func (c *Cluster) Leader(id uint64) shard.HostID { return c.logs.Leader(id) }

// Last returns the last entry of a host's replica of a shard.
func (c *Cluster) Last(on shard.HostID, of uint64) (term, index uint64) { return c.logs.Last(on, of) }

// Replicas lists a shard's replicas.
func (c *Cluster) Replicas(id uint64) []Replica { return c.logs.Replicas(id) }

// Describe describes the replicas of a shard in detail.
func (c *Cluster) Describe(id uint64) string { return c.logs.Describe(id) }

// Elect makes a host the leader of a shard.
func (c *Cluster) Elect(id uint64, to shard.HostID) error {
	return c.logs.Elect(id, to)
}

// CutClients breaks all client connections of a host. Clients may reconnect at once.
func (c *Cluster) CutClients(id shard.HostID) {
	c.mu.Lock()
	var conns []net.Conn
	if h := c.hosts[id]; h != nil {
		conns, h.conns = h.conns, nil
	}
	c.mu.Unlock()
	cut(conns)
}

// cut breaks connections.
func cut(conns []net.Conn) {
	for _, conn := range conns {
		if m, ok := conn.(interface{ Cut() }); ok {
			m.Cut()
		} else {
			_ = conn.Close()
		}
	}
}

// Isolate partitions a host from all other hosts, in both directions. Its clients still reach it.
func (c *Cluster) Isolate(id shard.HostID) { c.logs.Isolate(id) }

// Heal ends all cuts between hosts.
func (c *Cluster) Heal() { c.logs.HealAll() }

// Pause suspends a host in all logs, as if its disk and its network between hosts were stalled; Resume ends the pause.
func (c *Cluster) Pause(id shard.HostID) { c.logs.Pause(id) }

// Resume ends a pause.
func (c *Cluster) Resume(id shard.HostID) { c.logs.Resume(id) }

// Stop ends a host abruptly, without notice to clients and other hosts. Its log remains for Restart.
func (c *Cluster) Stop(id shard.HostID) {
	if h := c.take(id); h != nil {
		c.close(id, h)
	}
}

// take removes a host from the cluster: clients and other hosts can no longer reach it.
func (c *Cluster) take(id shard.HostID) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[id]
	delete(c.hosts, id)
	return h
}

// close ends the rest of a host.
func (c *Cluster) close(id shard.HostID, h *host) {
	_ = h.memory.Close()
	h.server.Close()
	c.logs.Ended(id)
}

// Crash ends a host abruptly: its connections break, and its logs keep all writes, or, in a power failure, only synced
// writes. Restart starts it again.
func (c *Cluster) Crash(id shard.HostID, loseUnsynced bool) {
	h := c.take(id)
	if h != nil {
		cut(h.conns) // first, so that its further messages do not count
	}
	if loseUnsynced {
		c.logs.PowerFail(id)
	} else {
		c.logs.Kill(id)
	}
	if h != nil {
		c.close(id, h)
	}
}

// Restart starts a stopped or crashed host with its remaining log.
func (c *Cluster) Restart(id shard.HostID) error { return c.open(id) }
