//go:build linux

package chaos

import (
	"fmt"
	"net"
	"sync"

	"github.com/signalbox/signalbox/server/servertest/process"
)

// network is all wires: between each pair of hosts, and from each client to each host.
type network struct {
	hosts   [][]*Wire // from, to; nil from a host to itself
	clients [][]*Wire // client, host
	// routes maps, for each client, client addresses of hosts to wire addresses.
	routes []map[string]string
	// faults is held for reading by each fault, and for writing while faults are forbidden.
	faults sync.RWMutex

	listeners []net.Listener
	work      sync.WaitGroup
}

// newNetwork puts wires between places. raft are the listeners at the peer addresses. pids returns the hosts' process
// ids, 0 for a stopped host.
func newNetwork(places []*process.Place, raft []net.Listener, clients int, pids func() []int) (*network, error) {
	n := &network{listeners: raft}
	for from := range places {
		n.hosts = append(n.hosts, make([]*Wire, len(places)))
		for to, p := range places {
			if from != to {
				n.hosts[from][to] = NewWire(p.Raft)
			}
		}
	}
	for to, listener := range raft {
		n.serve(listener, func(c *net.TCPConn) *Wire {
			remote, local := c.RemoteAddr().(*net.TCPAddr), c.LocalAddr().(*net.TCPAddr)
			from, ok := socketOwner(remote.Port, local.Port, pids())
			if !ok {
				return nil // already ended
			}
			return n.hosts[from][to]
		})
	}
	for range clients {
		routes := make(map[string]string)
		var wires []*Wire
		for _, p := range places {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				n.close()
				return nil, fmt.Errorf("chaos: open a wire to host %s: %w", p.Name, err)
			}
			wire := NewWire(p.Client)
			n.listeners = append(n.listeners, listener)
			n.serve(listener, func(*net.TCPConn) *Wire { return wire })
			routes[p.Client] = listener.Addr().String()
			wires = append(wires, wire)
		}
		n.clients = append(n.clients, wires)
		n.routes = append(n.routes, routes)
	}
	return n, nil
}

// serve forwards every accepted connection over the chosen wire.
func (n *network) serve(listener net.Listener, choose func(*net.TCPConn) *Wire) {
	n.work.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			n.work.Go(func() {
				if wire := choose(c.(*net.TCPConn)); wire != nil {
					wire.Forward(c.(*net.TCPConn))
					return
				}
				reset(c.(*net.TCPConn))
			})
		}
	})
}

// around returns the wires between a host and its peers, in both directions.
func (n *network) around(host int) (to, from []*Wire) {
	for other := range n.hosts {
		if other != host {
			to, from = append(to, n.hosts[other][host]), append(from, n.hosts[host][other])
		}
	}
	return to, from
}

// between returns the wires from all clients to a host.
func (n *network) between(host int) (list []*Wire) {
	for _, wires := range n.clients {
		list = append(list, wires[host])
	}
	return list
}

// undisturbed reports whether nothing is wrong between two hosts, in either direction.
func (n *network) undisturbed(a, b int) bool {
	return a == b || n.hosts[a][b].undisturbed() && n.hosts[b][a].undisturbed()
}

// all returns all wires between hosts.
func (n *network) all() (list []*Wire) {
	for _, wires := range n.hosts {
		for _, w := range wires {
			if w != nil {
				list = append(list, w)
			}
		}
	}
	return list
}

// close ends all connections. The processes at their ends have ended by then, or are about to.
func (n *network) close() {
	for _, l := range n.listeners {
		_ = l.Close()
	}
	for _, wires := range append(n.clients, n.hosts...) {
		for _, w := range wires {
			if w != nil {
				w.Reset()
			}
		}
	}
	n.work.Wait()
}
