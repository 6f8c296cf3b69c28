package simulation

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/server/transport/conntest"
	"github.com/signalbox/signalbox/shard"
)

// network is all client connections, with their faults.
type network struct {
	cluster *servertest.Cluster

	mu      sync.Mutex // guards what follows
	conns   []*conn
	delay   map[int]time.Duration
	hosts   map[shard.HostID]int // number of faults holding each host
	clients map[int]int
	apart   map[pair]*[2]int // number of faults separating each pair, to the server and to the client
	changed chan struct{}    // closed at the next change
}

type pair struct {
	client int
	host   shard.HostID
}

// conn is one connection.
type conn struct {
	*conntest.Conn
	pair
	network *network
}

func newNetwork(cluster *servertest.Cluster) *network {
	return &network{
		cluster: cluster, delay: make(map[int]time.Duration), hosts: make(map[shard.HostID]int),
		clients: make(map[int]int), apart: make(map[pair]*[2]int), changed: make(chan struct{}),
	}
}

// dial connects a client. A stalled host accepts connections, but sends nothing.
func (n *network) dial(ctx context.Context, clientID int, address string) (net.Conn, error) {
	p := pair{client: clientID, host: hostAt(address)}
	for {
		n.mu.Lock()
		blocked, changed := n.clients[clientID] > 0 || n.apart[p] != nil, n.changed
		n.mu.Unlock()
		if !blocked {
			break
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-changed:
		}
	}
	c, err := n.cluster.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	made := &conn{c.(*conntest.Conn), p, n}
	n.conns = append(n.conns, made)
	n.apply(made)
	return made, nil
}

// Close closes the connection and removes it from the list.
func (c *conn) Close() error {
	c.network.mu.Lock()
	c.network.conns = slices.DeleteFunc(c.network.conns, func(other *conn) bool { return other == c })
	c.network.mu.Unlock()
	return c.Conn.Close()
}

func hostAt(address string) shard.HostID {
	for id := shard.HostID(1); id <= maxHosts; id++ {
		if servertest.Address(id) == address {
			return id
		}
	}
	return 0
}

// maxHosts is the maximum number of hosts in a plan.
const maxHosts = 40

// apply applies the present faults to a connection. The lock is held.
func (n *network) apply(c *conn) {
	c.Delay(conntest.BothWays, n.delay[c.client])
	held := n.hosts[c.host] > 0 || n.clients[c.client] > 0
	apart := n.apart[c.pair]
	for i, way := range []conntest.Direction{conntest.ToServer, conntest.ToClient} {
		if held || apart != nil && apart[i] > 0 {
			c.Pause(way)
		} else {
			c.Resume(way)
		}
	}
}

// change changes faults, and applies them to all connections.
func (n *network) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	for _, c := range n.conns {
		n.apply(c)
	}
	close(n.changed)
	n.changed = make(chan struct{})
}

func step(on bool) int {
	if on {
		return 1
	}
	return -1
}

// holdHost holds back, or releases, all traffic between a host and its clients.
func (n *network) holdHost(id shard.HostID, on bool) { n.change(func() { n.hosts[id] += step(on) }) }

// holdClient holds back, or releases, all traffic between a client and all hosts.
func (n *network) holdClient(id int, on bool) { n.change(func() { n.clients[id] += step(on) }) }

// setDelay sets a client's message delay.
func (n *network) setDelay(id int, d time.Duration) { n.change(func() { n.delay[id] = d }) }

// separate disconnects a client and a host, in one or both directions.
func (n *network) separate(id int, host shard.HostID, amount float64) (end func()) {
	ways := [2]int{1, 1}
	if amount < 0.3 {
		ways[0] = 0
	} else if amount < 0.6 {
		ways[1] = 0
	}
	p := pair{id, host}
	add := func(sign int) {
		a := n.apart[p]
		if a == nil {
			a = new([2]int)
			n.apart[p] = a
		}
		for i := range a {
			a[i] += sign * ways[i]
		}
		if *a == [2]int{} {
			delete(n.apart, p)
		}
	}
	n.change(func() { add(1) })
	return func() { n.change(func() { add(-1) }) }
}

// cut breaks all connections of a client.
func (n *network) cut(id int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		if c.client == id {
			c.Cut()
		}
	}
}
