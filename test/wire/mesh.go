//go:build linux

package wire

import (
	"net"
	"sync"
)

// Mesh contains a wire for each pair of hosts.
type Mesh struct {
	Hosts [][]*Wire // from, to; nil from a host to itself

	listeners []net.Listener
	work      sync.WaitGroup
}

// NewMesh puts wires between hosts with the given peer addresses. The hosts know each other by the listeners'
// addresses. pids returns the hosts' process IDs, 0 for a stopped host.
func NewMesh(listeners []net.Listener, addresses []string, pids func() []int) *Mesh {
	m := &Mesh{}
	for from := range addresses {
		m.Hosts = append(m.Hosts, make([]*Wire, len(addresses)))
		for to, address := range addresses {
			if from != to {
				m.Hosts[from][to] = New(address)
			}
		}
	}
	for to, listener := range listeners {
		m.Serve(listener, func(c *net.TCPConn) *Wire {
			remote, local := c.RemoteAddr().(*net.TCPAddr), c.LocalAddr().(*net.TCPAddr)
			from, ok := socketOwner(remote.Port, local.Port, pids())
			if !ok {
				return nil // already ended
			}
			return m.Hosts[from][to]
		})
	}
	return m
}

// Serve forwards every accepted connection over the chosen wire, until Close. A connection without a wire is reset.
func (m *Mesh) Serve(listener net.Listener, choose func(*net.TCPConn) *Wire) {
	m.listeners = append(m.listeners, listener)
	m.work.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			m.work.Go(func() {
				if wire := choose(c.(*net.TCPConn)); wire != nil {
					wire.Forward(c.(*net.TCPConn))
					return
				}
				reset(c.(*net.TCPConn))
			})
		}
	})
}

// Around returns the wires between a host and its peers, in both directions.
func (m *Mesh) Around(host int) (to, from []*Wire) {
	for other := range m.Hosts {
		if other != host {
			to, from = append(to, m.Hosts[other][host]), append(from, m.Hosts[host][other])
		}
	}
	return to, from
}

// Undisturbed reports whether two hosts are connected without a fault, in both directions.
func (m *Mesh) Undisturbed(a, b int) bool {
	return a == b || m.Hosts[a][b].undisturbed() && m.Hosts[b][a].undisturbed()
}

// All returns all wires between hosts.
func (m *Mesh) All() (list []*Wire) {
	for _, wires := range m.Hosts {
		for _, w := range wires {
			if w != nil {
				list = append(list, w)
			}
		}
	}
	return list
}

// Close ends all connections, including connections over the other wires. Processes that still use a connection must
// not be needed any more.
func (m *Mesh) Close(others ...*Wire) {
	for _, l := range m.listeners {
		_ = l.Close()
	}
	for _, w := range append(m.All(), others...) {
		w.Reset()
	}
	m.work.Wait()
}
