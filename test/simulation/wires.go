package simulation

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
)

// wires are the connections of all clients, and what is wrong with them.
type wires struct {
	cluster *servertest.Cluster

	mu      sync.Mutex // guards what follows
	open    []*wire
	delay   map[int]time.Duration
	hosts   map[shard.HostID]int // held, so often
	clients map[int]int
	apart   map[pair]*[2]int // how often, to the server and to the client
	changed chan struct{}    // closed when something is better
}

type pair struct {
	client int
	host   shard.HostID
}

// wire is one connection.
type wire struct {
	pair
	conn *transport.MemoryConn
}

func newWires(cluster *servertest.Cluster) *wires {
	return &wires{
		cluster: cluster, delay: make(map[int]time.Duration), hosts: make(map[shard.HostID]int),
		clients: make(map[int]int), apart: make(map[pair]*[2]int), changed: make(chan struct{}),
	}
}

// dial connects a client. A host that stands still lets clients connect, and then says nothing.
func (x *wires) dial(ctx context.Context, clientID int, address string) (net.Conn, error) {
	p := pair{client: clientID, host: hostAt(address)}
	for {
		x.mu.Lock()
		blocked, changed := x.clients[clientID] > 0 || x.apart[p] != nil, x.changed
		x.mu.Unlock()
		if !blocked {
			break
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-changed:
		}
	}
	c, err := x.cluster.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	w := &wire{pair: p, conn: c.(*transport.MemoryConn)}
	x.open = append(x.open, w)
	x.adjust(w)
	return &closer{w.conn, x, w}, nil
}

// closer takes a connection that its client has closed off the list.
type closer struct {
	net.Conn
	wires *wires
	wire  *wire
}

func (c *closer) Close() error {
	x := c.wires
	x.mu.Lock()
	for i, w := range x.open {
		if w == c.wire {
			x.open[i] = x.open[len(x.open)-1]
			x.open = x.open[:len(x.open)-1]
			break
		}
	}
	x.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite keeps the half-closing of the connection.
func (c *closer) CloseWrite() error { return c.wire.conn.CloseWrite() }

func hostAt(address string) shard.HostID {
	for id := shard.HostID(1); id <= maxHosts; id++ {
		if servertest.Address(id) == address {
			return id
		}
	}
	return 0
}

// maxHosts is the most hosts that a plan may have.
const maxHosts = 9

// adjust makes a connection what it has to be now. The lock is held.
func (x *wires) adjust(w *wire) {
	w.conn.Delay(transport.BothWays, x.delay[w.client])
	held := x.hosts[w.host] > 0 || x.clients[w.client] > 0
	apart := x.apart[w.pair]
	for i, way := range []transport.Direction{transport.ToServer, transport.ToClient} {
		if held || apart != nil && apart[i] > 0 {
			w.conn.Pause(way)
		} else {
			w.conn.Resume(way)
		}
	}
}

// change changes what is wrong, and all connections.
func (x *wires) change(f func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f()
	for _, w := range x.open {
		x.adjust(w)
	}
	close(x.changed)
	x.changed = make(chan struct{})
}

func step(on bool) int {
	if on {
		return 1
	}
	return -1
}

// holdHost holds back everything between a host and its clients, or lets it go.
func (x *wires) holdHost(id shard.HostID, on bool) { x.change(func() { x.hosts[id] += step(on) }) }

// holdClient holds back everything between a client and all hosts, or lets it go.
func (x *wires) holdClient(id int, on bool) { x.change(func() { x.clients[id] += step(on) }) }

// slow sets how long the messages of a client take.
func (x *wires) slow(id int, d time.Duration) { x.change(func() { x.delay[id] = d }) }

// part keeps a client and a host from each other: both ways, or one of them.
func (x *wires) part(id int, host shard.HostID, amount float64) (end func()) {
	ways := [2]int{1, 1}
	if amount < 0.3 {
		ways[0] = 0
	} else if amount < 0.6 {
		ways[1] = 0
	}
	p := pair{id, host}
	add := func(sign int) {
		a := x.apart[p]
		if a == nil {
			a = new([2]int)
			x.apart[p] = a
		}
		for i := range a {
			a[i] += sign * ways[i]
		}
		if *a == [2]int{} {
			delete(x.apart, p)
		}
	}
	x.change(func() { add(1) })
	return func() { x.change(func() { add(-1) }) }
}

// cut breaks all connections of a client.
func (x *wires) cut(id int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range x.open {
		if w.client == id {
			w.conn.Cut()
		}
	}
}
