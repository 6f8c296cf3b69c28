package memlog

import (
	"bytes"
	"fmt"
	"slices"

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
		}
		n.remake(id, h, replica, &savedSnapshot{index: remadeIndex, term: remadeTerm, data: state})
		return nil
	})
}

// remake puts a group of one replica in the place of the group of that id, if there is one.
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

// Regroup makes a group anew as Remake does, while replicas of the group before may still be open elsewhere: those go
// on among themselves. The terms and the indexes of the new group are above those of the group before. Join starts the
// replica. A second Regroup for the replica does nothing.
func (n *Network) Regroup(id GroupID, on shard.HostID, replica, number uint64, state []byte) error {
	return locked(n, func() error {
		h, old := n.host(on), n.group(id)
		switch {
		case n.closed:
			return shard.ErrLogClosed
		case h == nil || old == nil:
			return fmt.Errorf("%w: group %d, host %d", ErrUnknownHost, id, on)
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

// Salvage gives a machine all that a replica of a host has, whose log is closed: also the entries that no majority may
// have accepted.
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

// Last returns the term and the index of the last entry that the replica has.
func (l *Log) Last() (term, index uint64) { return l.net.LastOn(l.group.id, l.host.id) }

// LastOn returns the term and the index of the last entry that a member on a host has; zeros where there is none.
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
