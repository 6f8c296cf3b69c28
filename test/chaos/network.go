//go:build linux

package chaos

import (
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/server/servertest/process"
	"github.com/signalbox/signalbox/test/wire"
)

// network is all wires: between each pair of hosts, and from each client to each host.
type network struct {
	*wire.Mesh
	clients [][]*wire.Wire // client, host
	// routes maps, for each client, client addresses of hosts to wire addresses.
	routes []map[string]string
	// faults is held for reading by each fault, and for writing while faults are forbidden.
	faults sync.RWMutex
}

// newNetwork puts wires between places. raft are the listeners at the peer addresses. pids returns the hosts' process
// ids, 0 for a stopped host.
func newNetwork(places []*process.Place, raft []net.Listener, clients int, pids func() []int) (*network, error) {
	var addresses []string
	for _, p := range places {
		addresses = append(addresses, p.Raft)
	}
	n := &network{Mesh: wire.NewMesh(raft, addresses, pids)}
	for range clients {
		routes := make(map[string]string)
		var wires []*wire.Wire
		for _, p := range places {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				n.close()
				return nil, fmt.Errorf("chaos: open a wire to host %s: %w", p.Name, err)
			}
			w := wire.New(p.Client)
			n.Serve(listener, func(*net.TCPConn) *wire.Wire { return w })
			routes[p.Client] = listener.Addr().String()
			wires = append(wires, w)
		}
		n.clients = append(n.clients, wires)
		n.routes = append(n.routes, routes)
	}
	return n, nil
}

// between returns the wires from all clients to a host.
func (n *network) between(host int) (list []*wire.Wire) {
	for _, wires := range n.clients {
		list = append(list, wires[host])
	}
	return list
}

// close ends all connections. The processes at their ends have ended by then, or are about to.
func (n *network) close() { n.Close(slices.Concat(n.clients...)...) }
