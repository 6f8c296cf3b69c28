package servertest

import (
	"net"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// Net is the network of the cluster's logs, for faults that are not offered here.
func (c *Cluster) Net() *memlog.Network { return c.network }

// Leader returns the host that leads a shard, as the log itself knows it; 0 where none does. The meta shard
// is shard 0, data shards count from 1.
func (c *Cluster) Leader(id uint64) shard.HostID {
	g := c.network.Group(memlog.GroupID(id + 1))
	if g == nil {
		return 0
	}
	return g.Leader().Leader
}

// Elect makes a host the leader of a shard.
func (c *Cluster) Elect(id uint64, to shard.HostID) error {
	return c.network.Group(memlog.GroupID(id + 1)).Elect(to)
}

// CutClients breaks all client connections of a host. Clients may connect again at once.
func (c *Cluster) CutClients(id shard.HostID) {
	c.mu.Lock()
	var conns []net.Conn
	if h := c.hosts[id]; h != nil {
		conns, h.conns = h.conns, nil
	}
	c.mu.Unlock()
	for _, conn := range conns {
		if m, ok := conn.(interface{ Cut() }); ok {
			m.Cut()
		} else {
			_ = conn.Close()
		}
	}
}

// Isolate cuts a host off from all other hosts, both ways. Its clients still reach it.
func (c *Cluster) Isolate(id shard.HostID) { c.network.Isolate(id) }

// Heal ends all cuts between hosts.
func (c *Cluster) Heal() { c.network.HealAll() }

// Pause suspends a host in all logs, as if its disk and its network between hosts stood still; it goes
// on with Resume.
func (c *Cluster) Pause(id shard.HostID) { c.network.Pause(id) }

// Resume ends a pause.
func (c *Cluster) Resume(id shard.HostID) { c.network.Resume(id) }

// Stop ends a host abruptly: neither its clients nor the other hosts are notified. Its log stays for Restart.
func (c *Cluster) Stop(id shard.HostID) {
	c.mu.Lock()
	h := c.hosts[id]
	delete(c.hosts, id)
	c.mu.Unlock()
	if h != nil {
		_ = h.memory.Close()
		h.server.Close()
	}
}

// Crash ends a host in the middle of what it does: its connections break, and of what it wrote to its logs it
// keeps everything, or, where its power fails too, only what was synced. Restart starts it again.
func (c *Cluster) Crash(id shard.HostID, loseUnsynced bool) {
	if loseUnsynced {
		c.network.PowerFail(id)
	} else {
		c.network.Kill(id)
	}
	c.CutClients(id)
	c.Stop(id)
}

// Restart starts a host that was stopped, or has crashed, on what its log kept.
func (c *Cluster) Restart(id shard.HostID) error {
	c.network.Restart(id)
	return c.open(id)
}
