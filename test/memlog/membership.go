package memlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// ChangeKind is the kind of a membership change.
type ChangeKind uint8

// The changes.
const (
	ChangeAdd     ChangeKind = iota + 1 // a replica, as a learner
	ChangePromote                       // a learner to a voter
	ChangeRemove                        // a replica, for ever
)

// Change is a group membership change.
type Change struct {
	Kind    ChangeKind
	Replica uint64
	// Host and Incarnation belong to an added replica.
	Host        shard.HostID
	Incarnation shard.Incarnation
	// For is the membership number to which the change applies.
	For uint64
}

// change is a Change in the log.
type change struct {
	Change
	busy    bool     // rejected, because another change is in progress
	refused error    // once committed: why it had no effect
	gone    *replica // the removed replica
}

var _ shard.Members = (*Log)(nil)

// ChangeMembership proposes a membership change: AddLearner, Promote and Remove without waiting.
func (l *Log) ChangeMembership(c Change, done func(error)) error {
	return locked(l.net, func() error {
		p := &proposal{log: l, change: &change{Change: c}}
		p.done = func(o shard.Outcome) { done(p.change.result(l.replica, o)) }
		return l.begin(p, nil)
	})
}

// result is the outcome of a change at its proposing replica.
func (c *change) result(at *replica, o shard.Outcome) error {
	switch {
	case c.busy:
		return fmt.Errorf("%w: another change is under way", shard.ErrLogBusy)
	case o == shard.OutcomeDropped:
		return shard.ErrNotLeader
	case o == shard.OutcomeUnknown || c.gone == at:
		return shard.ErrMembershipUnknown
	}
	return c.refused
}

// takesNo reports whether the leader rejects changes now, because its log may contain an uncommitted change. Before its
// first commit, a leader does not know its predecessors' changes.
func (l *Log) takesNo(c *change) bool {
	s := l.replica.store
	c.busy = s.commit < l.leading.first ||
		slices.ContainsFunc(s.between(s.commit, s.last()), func(e *entry) bool { return e.change != nil })
	return c.busy
}

// upToChange returns the entries up to the first membership change.
func upToChange(entries []*entry) []*entry {
	if i := slices.IndexFunc(entries, func(e *entry) bool { return e.change != nil }); i >= 0 {
		return entries[:i+1]
	}
	return entries
}

// takeEffect applies a committed membership change, effective immediately for all replicas.
func (g *Group) takeEffect(e *entry) {
	c := e.change
	if c.refused = g.refuses(c); c.refused != nil {
		return
	}
	g.change = e.index
	switch r := g.replica(c.Replica); c.Kind {
	case ChangeAdd:
		if r == nil {
			r = g.newReplica(g.net.host(c.Host), c.Replica)
		}
		r.incarnation = c.Incarnation
		g.outside = slices.DeleteFunc(g.outside, func(o *replica) bool { return o == r })
		g.replicas = append(g.replicas, r)
	case ChangePromote:
		r.voter = true
	case ChangeRemove:
		c.gone, r.voter = r, false
		g.removed[r.id] = true
		g.replicas = slices.DeleteFunc(g.replicas, func(o *replica) bool { return o == r })
		g.outside = append(g.outside, r)
	}
	g.resumeHeartbeats()
}

// refuses returns why the current membership does not permit a change, or nil.
func (g *Group) refuses(c *change) error {
	r, why := g.replica(c.Replica), ""
	member := r != nil && slices.Contains(g.replicas, r)
	switch {
	case c.For != g.change:
		return fmt.Errorf("group %d: %w: %d, not %d", g.id, shard.ErrOtherMembership, g.change, c.For)
	case g.removed[c.Replica]:
		why = "it was removed"
	case c.Kind == ChangeAdd && (member || g.replicaOn(c.Host) != nil):
		why = "it is there, or its host has another one"
	case c.Kind == ChangeAdd && (g.net.host(c.Host) == nil || r != nil && r.host.id != c.Host):
		why = "it is on another host, or the network does not have that"
	case c.Kind == ChangePromote && (!member || r.voter):
		why = "it is no learner"
	case c.Kind == ChangeRemove && !member:
		why = "it is no member"
	case c.Kind == ChangeRemove && r.voter && g.votes() == 1:
		why = "it is the last voter"
	}
	if why == "" {
		return nil
	}
	return fmt.Errorf("group %d, replica %d: %w: %s", g.id, c.Replica, shard.ErrMembershipRule, why)
}

// dismiss sends a removed replica its removal entry, once that is known to be committed. It is sent once: a replica
// that misses it does not notice its removal.
func (l *Log) dismiss(e *entry) {
	if e.change != nil && e.change.gone != nil && e.change.gone != l.replica {
		l.sendAppend(e.change.gone, false)
	}
}

// leaveIfRemoved closes the log of a replica that has applied its own removal.
func (l *Log) leaveIfRemoved(entries []*entry) {
	for _, e := range entries {
		if e.change != nil && e.change.gone == l.replica {
			l.close()
			return
		}
	}
}

// newReplica creates a non-member replica.
func (g *Group) newReplica(h *host, id uint64) *replica {
	g.seats++
	return &replica{group: g, host: h, id: id, pos: g.seats - 1, store: newStore()}
}

// replica returns the replica with an id, member or not, or nil.
func (g *Group) replica(id uint64) *replica {
	for _, list := range [][]*replica{g.replicas, g.outside} {
		for _, r := range list {
			if r.id == id {
				return r
			}
		}
	}
	return nil
}

// membership is the current membership.
func (g *Group) membership() shard.Membership {
	m := shard.Membership{Change: g.change}
	for _, r := range g.replicas {
		m.Members = append(m.Members, shard.Member{Replica: r.id, Host: r.host.id, Incarnation: r.incarnation,
			Voter: r.voter})
	}
	slices.SortFunc(m.Members, func(a, b shard.Member) int { return int(a.Replica) - int(b.Replica) })
	return m
}

// Membership returns the current membership, independent of hosts' knowledge.
func (g *Group) Membership() shard.Membership { return locked(g.net, g.membership) }

// Membership implements shard.Members. It and the calls below wait, so they are for networks in real time.
func (l *Log) Membership(ctx context.Context) (shard.Membership, error) {
	err := wait(ctx, l.Barrier)
	if err != nil {
		return shard.Membership{}, fmt.Errorf("reading the membership of group %d: %w", l.group.id, err)
	}
	return l.group.Membership(), nil
}

// AddLearner implements shard.Members.
func (l *Log) AddLearner(ctx context.Context, replica uint64, host shard.HostID, incarnation shard.Incarnation,
	change uint64) error {
	return l.changeNow(ctx, Change{Kind: ChangeAdd, Replica: replica, Host: host, Incarnation: incarnation,
		For: change})
}

// Promote implements shard.Members.
func (l *Log) Promote(ctx context.Context, replica, change uint64) error {
	return l.changeNow(ctx, Change{Kind: ChangePromote, Replica: replica, For: change})
}

// Remove implements shard.Members.
func (l *Log) Remove(ctx context.Context, replica, change uint64) error {
	return l.changeNow(ctx, Change{Kind: ChangeRemove, Replica: replica, For: change})
}

func (l *Log) changeNow(ctx context.Context, c Change) error {
	err := wait(ctx, func(done func(error)) error { return l.ChangeMembership(c, done) })
	if err != nil && err == ctx.Err() {
		return errors.Join(shard.ErrMembershipUnknown, err)
	}
	return err
}

// wait starts an operation with one outcome, and waits for the outcome or the context.
func wait(ctx context.Context, begin func(done func(error)) error) error {
	outcome := make(chan error, 1)
	if err := begin(func(err error) { outcome <- err }); err != nil {
		return err
	}
	select {
	case err := <-outcome:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Applied returns the last index passed to this host's state machine.
func (l *Log) Applied() uint64 { return locked(l.net, func() uint64 { return l.applied }) }

// Progress returns the other members' progress. It is empty if this host does not lead. Snapshots are single messages
// here, so Progress never shows a running transfer.
func (l *Log) Progress() []shard.Progress {
	return locked(l.net, func() (list []shard.Progress) {
		if l.leading == nil {
			return nil
		}
		for r := range l.peers() {
			p := l.leading.peer(r)
			if l.surelyHeardBy(r) {
				p.heard = l.net.now
			}
			list = append(list, shard.Progress{Replica: r.id, Index: p.match, Tried: true,
				SilentMillis: uint64((l.net.now - p.heard).Milliseconds())})
		}
		return list
	})
}

// Replica returns the log's replica id.
func (l *Log) Replica() uint64 { return l.replica.id }
