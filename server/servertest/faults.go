package servertest

import (
	"net"

	"github.com/signalbox/signalbox/shard"
)

// Net is what may go wrong with the cluster's logs and is not offered here.
func (c *Cluster) Net() Faults { return c.logs }

// Leader returns the host that leads a shard, as the log itself knows it; 0 where none does. The meta shard
// is shard 0, data shards count from 1.
func (c *Cluster) Leader(id uint64) shard.HostID { return c.logs.Leader(id) }

// Last returns the last entry of the replica that a host has of a shard.
func (c *Cluster) Last(on shard.HostID, of uint64) (term, index uint64) { return c.logs.Last(on, of) }

// Replicas lists those of a shard.
func (c *Cluster) Replicas(id uint64) []Replica { return c.logs.Replicas(id) }

// Describe writes down all that is known of the replicas of a shard.
func (c *Cluster) Describe(id uint64) string { return c.logs.Describe(id) }

// Elect makes a host the leader of a shard.
func (c *Cluster) Elect(id uint64, to shard.HostID) error {
	return c.logs.Elect(id, to)
}

// CutClients breaks all client connections of a host. Clients may connect again at once.
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

// Isolate cuts a host off from all other hosts, both ways. Its clients still reach it.
func (c *Cluster) Isolate(id shard.HostID) { c.logs.Isolate(id) }

// Heal ends all cuts between hosts.
func (c *Cluster) Heal() { c.logs.HealAll() }

// Pause suspends a host in all logs, as if its disk and its network between hosts stood still; it goes
// on with Resume.
func (c *Cluster) Pause(id shard.HostID) { c.logs.Pause(id) }

// Resume ends a pause.
func (c *Cluster) Resume(id shard.HostID) { c.logs.Resume(id) }

// Stop ends a host abruptly: neither its clients nor the other hosts are notified. Its log stays for Restart.
func (c *Cluster) Stop(id shard.HostID) {
	if h := c.take(id); h != nil {
		c.close(id, h)
	}
}

// take takes a host off the cluster, where no client and no other host reaches it any more.
func (c *Cluster) take(id shard.HostID) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[id]
	delete(c.hosts, id)
	return h
}

// close ends what is left of a host.
func (c *Cluster) close(id shard.HostID, h *host) {
	_ = h.memory.Close()
	h.server.Close()
	c.logs.Ended(id)
}

// Crash ends a host in the middle of what it does: its connections break, and of what it wrote to its logs it
// keeps everything, or, where its power fails too, only what was synced. Restart starts it again.
func (c *Cluster) Crash(id shard.HostID, loseUnsynced bool) {
	h := c.take(id)
	if h != nil {
		cut(h.conns) // first: nothing that it says from here on counts
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

// Restart starts a host that was stopped, or has crashed, on what its log kept.
func (c *Cluster) Restart(id shard.HostID) error { return c.open(id) }
