package memlog

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Link is what one direction between two hosts is like. The zero Link is perfect.
type Link struct {
	// Delay is drawn for every message.
	Delay Delay
	// Loss is the probability (0 up to, not including, 1) that a message is lost. What matters is
	// repeated after a heartbeat.
	Loss float64
	// Reorder lets a message overtake earlier ones, where it drew a shorter delay.
	Reorder bool
}

func (l Link) validate() error {
	if !(l.Loss >= 0 && l.Loss < 1) {
		return fmt.Errorf("%w: loss %v: want 0 <= loss < 1 (Cut loses everything)", ErrConfig, l.Loss)
	}
	return l.Delay.validate("the delay of a link")
}

// link is one direction between two hosts, with what is going on there.
type link struct {
	Link
	from, to    *host
	cut         bool
	lastArrival time.Duration
}

// clean tells whether a heartbeat every interval is sure to be heard before the timeout.
func (k *link) clean(interval, timeout time.Duration) bool {
	return !k.cut && k.Loss == 0 && k.Delay.Max+interval < timeout
}

// lose draws whether the next message on the link is lost.
func (k *link) lose(n *Network) bool {
	return k.Loss > 0 && n.rng.Float64() < k.Loss
}

// send puts a message on its way to a replica. It runs there when and if it arrives.
func (n *Network) send(from *host, to *replica, run func()) {
	k := n.links[from.pos][to.host.pos]
	if k.lose(n) {
		n.trace.add(n.now, Record{Kind: RecordLost, Host: from.id, Peer: to.host.id})
		return
	}
	n.schedule(k.arrival(n)-n.now, event{host: to.host, link: k, to: to, run: run})
}

// arrival draws when a message that is sent now arrives.
func (k *link) arrival(n *Network) time.Duration {
	at := n.now + k.Delay.draw(n.rng)
	if !k.Reorder {
		at = max(at, k.lastArrival)
		k.lastArrival = at
	}
	return at
}

// connected tells whether messages get from either host to the other now, lost ones apart.
func (n *Network) connected(a, b *host) bool {
	return a == b || !n.links[a.pos][b.pos].cut && !n.links[b.pos][a.pos].cut
}

// SetLink sets what the direction from one host to another is like. Messages that are on their way
// keep the delay they drew.
func (n *Network) SetLink(from, to shard.HostID, l Link) {
	if err := l.validate(); err != nil {
		panic(err)
	}
	n.do(func() {
		n.links[n.mustHost(from).pos][n.mustHost(to).pos].Link = l
		n.disturb()
	})
}

// SetLinks sets what all directions between all hosts are like.
func (n *Network) SetLinks(l Link) {
	if err := l.validate(); err != nil {
		panic(err)
	}
	n.do(func() {
		n.eachLink(func(k *link) { k.Link = l })
		n.disturb()
	})
}

// Cut loses every message that would arrive at a host from another one. The other direction stays.
func (n *Network) Cut(from, to shard.HostID) { n.setCut(from, to, true) }

// Heal undoes Cut for one direction.
func (n *Network) Heal(from, to shard.HostID) { n.setCut(from, to, false) }

func (n *Network) setCut(from, to shard.HostID, cut bool) {
	n.do(func() {
		k := n.links[n.mustHost(from).pos][n.mustHost(to).pos]
		k.cut = cut
		n.traceCut(k)
		n.disturb()
	})
}

// Isolate cuts both directions between a host and all others.
func (n *Network) Isolate(id shard.HostID) {
	n.do(func() {
		h := n.mustHost(id)
		n.eachLink(func(k *link) {
			if k.from == h || k.to == h {
				k.cut = true
				n.traceCut(k)
			}
		})
		n.disturb()
	})
}

// Partition cuts the network into sets: hosts of the same set reach each other, others do not. Hosts
// that are in none of the sets form one more. It replaces all cuts there were.
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
		n.eachLink(func(k *link) {
			k.cut = side(k.from) != side(k.to)
			n.traceCut(k)
		})
		n.disturb()
	})
}

// HealAll undoes all cuts.
func (n *Network) HealAll() { n.Partition() }

// eachLink visits the links between different hosts.
func (n *Network) eachLink(visit func(*link)) {
	for i := range n.links {
		for j, k := range n.links[i] {
			if i != j {
				visit(k)
			}
		}
	}
}

func (n *Network) traceCut(k *link) {
	kind := RecordHealed
	if k.cut {
		kind = RecordCut
	}
	n.trace.add(n.now, Record{Kind: kind, Host: k.from.id, Peer: k.to.id})
}
