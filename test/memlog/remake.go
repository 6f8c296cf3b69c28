package memlog

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// remadeIndex and remadeTerm are the index and term in a rebuilt group's initial snapshot.
const remadeIndex, remadeTerm = 1, 1

// Remake rebuilds a group in place of a group without open logs. The new group has a single voter with the given state,
// as in a cluster restored from a backup. Join starts the replica.
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
		}
		n.remake(id, h, replica, &savedSnapshot{index: remadeIndex, term: remadeTerm, data: state})
		return nil
	})
}

// remake replaces the group with the given id, if any, by a single-replica group.
func (n *Network) remake(id GroupID, on *host, replica uint64, begin *savedSnapshot) {
	if old := n.group(id); old != nil {
		n.forget(old)
	}
	g := n.addGroup(id, nil)
	r := g.newReplica(on, replica)
	r.voter = true
	g.replicas = append(g.replicas, r)
	g.term, g.committed.before, g.knownCommitted = begin.term, begin.index, begin.index
	r.store.term = begin.term
	r.store.install(begin)
}

// Regroup rebuilds a group like Remake, while the old group's replicas may still be open elsewhere and continue without
// the new group. The new group's terms and indexes are above the old group's. Join starts the replica. A second Regroup
// for the replica has no effect. The first Regroup for an id begins a group without an old one.
func (n *Network) Regroup(id GroupID, on shard.HostID, replica, number uint64, state []byte) error {
	return locked(n, func() error {
		h, old := n.host(on), n.group(id)
		switch {
		case n.closed:
			return shard.ErrLogClosed
		case h == nil:
			return fmt.Errorf("%w: group %d, host %d", ErrUnknownHost, id, on)
		case old == nil:
			n.remake(id, h, replica, &savedSnapshot{index: remadeIndex, term: number << shard.GroupTermBits,
				data: state})
			return nil
		case old.replica(replica) != nil:
			return nil
		}
		if r := old.replicaOn(on); r != nil && r.log != nil {
			return fmt.Errorf("making group %d anew: %w", id, ErrOpen)
		}
		begin := &savedSnapshot{index: remadeIndex, term: number << shard.GroupTermBits, data: state}
		for _, r := range old.replicas {
			begin.index = max(begin.index, r.store.last())
		}
		n.remake(id, h, replica, begin)
		return nil
	})
}

// Salvage passes a machine all data from a closed replica, including entries that possibly no majority accepted.
func (n *Network) Salvage(id GroupID, on shard.HostID, machine shard.StateMachine) error {
	var state []byte
	var entries []shard.Entry
	err := locked(n, func() error {
		g := n.group(id)
		if g == nil || g.replicaOn(on) == nil {
			return fmt.Errorf("%w: group %d, host %d", ErrUnknownHost, id, on)
		}
		s := g.replicaOn(on).store
		if s.snapshot != nil {
			state = s.snapshot.data
		}
		for _, e := range s.entries {
			if !e.empty && e.index > s.snapshotIndex() {
				entries = append(entries, shard.Entry{Index: e.index, Data: slices.Clone(e.data)})
			}
		}
		return nil
	})
	if err == nil && state != nil {
		err = machine.Restore(bytes.NewReader(state))
	}
	if err == nil && len(entries) > 0 {
		err = machine.Apply(entries)
	}
	return err
}

// Has reports whether a host has a replica of a group.
func (n *Network) Has(id GroupID, on shard.HostID, replica uint64) bool {
	return locked(n, func() bool {
		g := n.group(id)
		return g != nil && g.replica(replica) != nil && g.replica(replica).host.id == on
	})
}

// Last returns term and index of the replica's last entry.
func (l *Log) Last() (term, index uint64) { return l.net.LastOn(l.group.id, l.host.id) }

// LastOn returns the term and index of the last entry in a host's member replica; zeros if there is none.
func (n *Network) LastOn(id GroupID, on shard.HostID) (term, index uint64) {
	n.do(func() {
		if g := n.group(id); g != nil {
			if r := g.replicaOn(on); r != nil {
				term, index = r.store.termAt(r.store.last()), r.store.last()
			}
		}
	})
	return term, index
}

// isOpen reports whether a replica's log is open.
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
