package memlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Path describes one direction between two hosts. The zero Path is perfect.
type Path struct {
	// Delay is drawn for every message.
	Delay Delay
	// Loss is the probability (0 up to, not including, 1) of message loss. Replicas repeat important messages after a
	// heartbeat.
	Loss float64
	// Reorder lets a message with a shorter delay overtake earlier ones.
	Reorder bool
}

func (p Path) validate() error {
	if !(p.Loss >= 0 && p.Loss < 1) {
		return fmt.Errorf("%w: loss %v: want 0 <= loss < 1 (Cut loses everything)", ErrConfig, p.Loss)
	}
	return p.Delay.validate("the delay of a path")
}

// path is one direction between two hosts, with its current state.
type path struct {
	Path
	from, to    *host
	cut         bool
	lastArrival time.Duration
}

// sure reports whether heartbeats sent every interval are certain to arrive within the timeout.
func (p *path) sure(interval, timeout time.Duration) bool {
	return !p.cut && p.Loss == 0 && p.Delay.Max+interval < timeout
}

// lose draws whether the next message on the path is lost.
func (p *path) lose(n *Network) bool {
	return p.Loss > 0 && n.rng.Float64() < p.Loss
}

// send sends a message to a replica. run is called if and when the message arrives.
func (n *Network) send(from *host, to *replica, run func()) {
	p := n.paths[from.pos][to.host.pos]
	if p.lose(n) {
		n.trace.add(n.now, Record{Kind: RecordLost, Host: from.id, Peer: to.host.id})
		return
	}
	n.schedule(p.arrival(n)-n.now, event{host: to.host, path: p, to: to, run: run})
}

// arrival draws the arrival time of a message sent now.
func (p *path) arrival(n *Network) time.Duration {
	at := n.now + p.Delay.draw(n.rng)
	if !p.Reorder {
		at = max(at, p.lastArrival)
		p.lastArrival = at
	}
	return at
}

// connected reports whether neither direction between two hosts is cut.
func (n *Network) connected(a, b *host) bool {
	return a == b || !n.paths[a.pos][b.pos].cut && !n.paths[b.pos][a.pos].cut
}

// SetPath sets the path from one host to another. Messages in flight keep their delay.
func (n *Network) SetPath(from, to shard.HostID, p Path) {
	if err := p.validate(); err != nil {
		panic(err)
	}
	n.do(func() {
		n.paths[n.mustHost(from).pos][n.mustHost(to).pos].Path = p
		n.resumeHeartbeats()
	})
}

// SetPaths sets the paths between all hosts.
func (n *Network) SetPaths(to Path) {
	if err := to.validate(); err != nil {
		panic(err)
	}
	n.do(func() {
		n.eachPath(func(p *path) { p.Path = to })
		n.resumeHeartbeats()
	})
}

// Cut drops all messages from one host to another on arrival. The opposite direction is unaffected.
func (n *Network) Cut(from, to shard.HostID) { n.setCut(from, to, true) }

// Heal undoes Cut for one direction.
func (n *Network) Heal(from, to shard.HostID) { n.setCut(from, to, false) }

func (n *Network) setCut(from, to shard.HostID, cut bool) {
	n.do(func() {
		p := n.paths[n.mustHost(from).pos][n.mustHost(to).pos]
		p.cut = cut
		n.traceCut(p)
		n.resumeHeartbeats()
	})
}

// Isolate cuts both directions between a host and all others.
func (n *Network) Isolate(id shard.HostID) {
	n.do(func() {
		h := n.mustHost(id)
		n.eachPath(func(p *path) {
			if p.from == h || p.to == h {
				p.cut = true
				n.traceCut(p)
			}
		})
		n.resumeHeartbeats()
	})
}

// Partition splits the network into sets: hosts reach only hosts in their own set. Hosts outside all sets form one more
// set. Partition replaces all earlier cuts.
func (n *Network) Partition(sets ...[]shard.HostID) {
	n.do(func() {
		for _, set := range sets {
			for _, id := range set {
				n.mustHost(id)
			}
		}
		side := func(h *host) int {
			return slices.IndexFunc(sets, func(set []shard.HostID) bool { return slices.Contains(set, h.id) })
		}
		n.eachPath(func(p *path) {
			p.cut = side(p.from) != side(p.to)
			n.traceCut(p)
		})
		n.resumeHeartbeats()
	})
}

// HealAll undoes all cuts.
func (n *Network) HealAll() { n.Partition() }

// eachPath visits the paths between different hosts.
func (n *Network) eachPath(visit func(*path)) {
	for i := range n.paths {
		for j, p := range n.paths[i] {
			if i != j {
				visit(p)
			}
		}
	}
}

func (n *Network) traceCut(p *path) {
	kind := RecordHealed
	if p.cut {
		kind = RecordCut
	}
	n.trace.add(n.now, Record{Kind: kind, Host: p.from.id, Peer: p.to.id})
}

// Connected reports whether two hosts run, and neither direction between them is cut.
func (n *Network) Connected(a, b shard.HostID) bool {
	return locked(n, func() bool {
		from, to := n.mustHost(a), n.mustHost(b)
		return from.runs() && to.runs() && n.connected(from, to)
	})
}
