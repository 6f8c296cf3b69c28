package memlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Path is what one direction between two hosts is like. The zero Path is perfect.
type Path struct {
	// Delay is drawn for every message.
	Delay Delay
	// Loss is the probability (0 up to, not including, 1) that a message is lost. Replicas repeat what matters after a
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

// path is one direction between two hosts, with its present state.
type path struct {
	Path
	from, to    *host
	cut         bool
	lastArrival time.Duration
}

// sure reports whether heartbeats that are sent every interval are certain to arrive within the timeout.
func (p *path) sure(interval, timeout time.Duration) bool {
	return !p.cut && p.Loss == 0 && p.Delay.Max+interval < timeout
}

// lose draws whether the next message on the path is lost.
func (p *path) lose(n *Network) bool {
	return p.Loss > 0 && n.rng.Float64() < p.Loss
}

// send sends a message to a replica: run is called there when and if the message arrives.
func (n *Network) send(from *host, to *replica, run func()) {
	p := n.paths[from.pos][to.host.pos]
	if p.lose(n) {
		n.trace.add(n.now, Record{Kind: RecordLost, Host: from.id, Peer: to.host.id})
		return
	}
	n.schedule(p.arrival(n)-n.now, event{host: to.host, path: p, to: to, run: run})
}

// arrival draws when a message that is sent now arrives.
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

// SetPath sets what the direction from one host to another is like. Messages that are on their way keep their delay.
func (n *Network) SetPath(from, to shard.HostID, p Path) {
	if err := p.validate(); err != nil {
		panic(err)
	}
	n.do(func() {
		n.paths[n.mustHost(from).pos][n.mustHost(to).pos].Path = p
		n.resumeHeartbeats()
	})
}

// SetPaths sets what all directions between all hosts are like.
func (n *Network) SetPaths(to Path) {
	if err := to.validate(); err != nil {
		panic(err)
	}
	n.do(func() {
		n.eachPath(func(p *path) { p.Path = to })
		n.resumeHeartbeats()
	})
}

// Cut loses every message that would arrive at a host from another one. The other direction stays.
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

// Partition cuts the network into sets: hosts of the same set reach each other, others do not. Hosts that are in none
// of the sets form one more. It replaces all earlier cuts.
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
