package memlog

import (
	"fmt"

	"github.com/signalbox/signalbox/shard"
)

// remadeIndex is the index, and remadeTerm the term, of the snapshot that a group begins with which was made anew.
const remadeIndex, remadeTerm = 1, 1

// Remake makes a group anew, in the place of one of which no log is open: it has one replica, which votes and begins
// with a state, as a cluster does that is made of a backup. Join starts it.
func (n *Network) Remake(id GroupID, on shard.HostID, replica uint64, state []byte) error {
	return locked(n, func() error {
		h, old := n.host(on), n.group(id)
		switch {
		case n.closed:
			return shard.ErrLogClosed
		case h == nil:
			return fmt.Errorf("%w: group %d, host %d", ErrUnknownHost, id, on)
		case old != nil && old.isOpen():
			return fmt.Errorf("making group %d anew: %w", id, ErrOpen)
		case old != nil:
			n.forget(old)
		}
		g := n.addGroup(id, nil)
		r := g.newReplica(h, replica)
		r.voter = true
		g.replicas = append(g.replicas, r)
		g.term, g.committed.before, g.knownCommitted = remadeTerm, remadeIndex, remadeIndex
		r.store.term = remadeTerm
		r.store.install(&savedSnapshot{index: remadeIndex, term: remadeTerm, data: state})
		return nil
	})
}

// isOpen reports whether the log of a replica is open.
func (g *Group) isOpen() bool {
	for _, l := range g.net.logs {
		if l.group == g {
			return true
		}
	}
	return false
}

// forget drops a group.
func (n *Network) forget(g *Group) {
	for i, other := range n.groups {
		if other == g {
			n.groups = append(n.groups[:i:i], n.groups[i+1:]...)
			return
		}
	}
}
