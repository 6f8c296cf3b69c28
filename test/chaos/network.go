//go:build linux

package chaos

import (
	"fmt"
	"net"
	"sync"

	"github.com/signalbox/signalbox/server/servertest/process"
)

// network is all links: from each host to each other one, and from each client to each host.
type network struct {
	hosts   [][]*Link // from, to; none to oneself
	clients [][]*Link // client, host
	// routes are, for each client, where it connects instead of to a host's client address.
	routes []map[string]string

	doors []net.Listener
	work  sync.WaitGroup
}

// newNetwork puts links between places that others know by their doors: raft are the listeners at the addresses at
// which hosts know each other. pids tells the processes of the hosts, 0 for one that is not there.
func newNetwork(places []*process.Place, raft []net.Listener, clients int, pids func() []int) (*network, error) {
	n := &network{doors: raft}
	for from := range places {
		n.hosts = append(n.hosts, make([]*Link, len(places)))
		for to, p := range places {
			if from != to {
				n.hosts[from][to] = NewLink(p.Raft)
			}
		}
	}
	for to, door := range raft {
		n.open(door, func(c *net.TCPConn) *Link {
			remote, local := c.RemoteAddr().(*net.TCPAddr), c.LocalAddr().(*net.TCPAddr)
			from, ok := owner(remote.Port, local.Port, pids())
			if !ok {
				return nil // it is gone already
			}
			return n.hosts[from][to]
		})
	}
	for range clients {
		routes := make(map[string]string)
		var links []*Link
		for _, p := range places {
			door, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				n.close()
				return nil, fmt.Errorf("chaos: open a link to host %s: %w", p.Name, err)
			}
			link := NewLink(p.Client)
			n.doors = append(n.doors, door)
			n.open(door, func(*net.TCPConn) *Link { return link })
			routes[p.Client] = door.Addr().String()
			links = append(links, link)
		}
		n.clients = append(n.clients, links)
		n.routes = append(n.routes, routes)
	}
	return n, nil
}

// open carries what comes in by a door over the link that is chosen for it.
func (n *network) open(door net.Listener, choose func(*net.TCPConn) *Link) {
	n.work.Go(func() {
		for {
			c, err := door.Accept()
			if err != nil {
				return
			}
			n.work.Go(func() {
				if link := choose(c.(*net.TCPConn)); link != nil {
					link.Carry(c.(*net.TCPConn))
					return
				}
				reset(c.(*net.TCPConn))
			})
		}
	})
}

// around returns the links between a host and the others, in both directions.
func (n *network) around(host int) (to, from []*Link) {
	for other := range n.hosts {
		if other != host {
			to, from = append(to, n.hosts[other][host]), append(from, n.hosts[host][other])
		}
	}
	return to, from
}

// between returns the links from all clients to a host.
func (n *network) between(host int) (list []*Link) {
	for _, links := range n.clients {
		list = append(list, links[host])
	}
	return list
}

// all returns all links between hosts.
func (n *network) all() (list []*Link) {
	for _, links := range n.hosts {
		for _, l := range links {
			if l != nil {
				list = append(list, l)
			}
		}
	}
	return list
}

// close ends all connections. The processes at their ends are gone by then, or about to go.
func (n *network) close() {
	for _, d := range n.doors {
		_ = d.Close()
	}
	for _, links := range append(n.clients, n.hosts...) {
		for _, l := range links {
			if l != nil {
				l.Reset()
			}
		}
	}
	n.work.Wait()
}
