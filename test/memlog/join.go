package memlog

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// Join starts a replica that was created after its group, under the replica id in its membership change. Before the
// replica is a member, the replica receives nothing. Join also restarts the replica later, even after its removal, as
// in production; only a discarded replica is refused.
func (n *Network) Join(host shard.HostID, group GroupID, replica uint64, machine shard.StateMachine) (*Log, error) {
	var l *Log
	var err error
	n.do(func() {
		if l, err = n.join(host, group, replica, machine); err != nil {
			err = fmt.Errorf("joining group %d on host %d as replica %d: %w", group, host, replica, err)
		}
	})
	return l, err
}

func (n *Network) join(host shard.HostID, group GroupID, id uint64, machine shard.StateMachine) (*Log, error) {
	g, h := n.group(group), n.host(host)
	switch {
	case n.closed:
		return nil, shard.ErrLogClosed
	case g == nil || h == nil:
		return nil, ErrUnknownHost
	case h.down:
		return nil, ErrHostDown
	}
	r := g.replica(id)
	if g.removed[id] && (r == nil || g.retired) {
		return nil, fmt.Errorf("%w: it was discarded", shard.ErrMembershipRule)
	}
	if r == nil {
		r = g.newReplica(h, id)
		g.outside = append(g.outside, r)
	}
	switch {
	case r.host != h:
		return nil, fmt.Errorf("%w: it is on host %d", shard.ErrMembershipRule, r.host.id)
	case r.log != nil:
		return nil, ErrOpen
	}
	return startLog(r, machine), nil
}

// Retire permits Discard for members of a group, because the shard was removed. The group continues until a majority of
// its members is discarded.
func (n *Network) Retire(id GroupID) {
	n.do(func() {
		if g := n.group(id); g != nil {
			g.retired = true
		}
	})
}

// Discard closes a non-member replica and deletes its data. The replica id can never be started again. Discarding twice
// has no effect. Callbacks must not call Discard.
func (n *Network) Discard(host shard.HostID, group GroupID, id uint64) error {
	return locked(n, func() error {
		if err := n.discard(host, n.group(group), id); err != nil {
			return fmt.Errorf("discarding replica %d of group %d on host %d: %w", id, group, host, err)
		}
		return nil
	})
}

func (n *Network) discard(host shard.HostID, g *Group, id uint64) error {
	if g == nil || n.host(host) == nil {
		return ErrUnknownHost
	}
	r := g.replica(id)
	if slices.Contains(g.replicas, r) && !g.retired {
		return fmt.Errorf("%w: it is a member", shard.ErrMembershipRule)
	}
	g.removed[id] = true
	if r == nil || r.host.id != host {
		return nil
	}
	if l := r.log; l != nil {
		l.close()
		l.awaitMachine()
	}
	g.outside = slices.DeleteFunc(g.outside, func(o *replica) bool { return o == r })
	if slices.Contains(g.proof, r) {
		g.proof = nil // current voters are responsible for the group's entries
	}
	return nil
}
