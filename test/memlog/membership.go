package memlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// ChangeKind is what a change does to the membership of a group.
type ChangeKind uint8

// The changes.
const (
	ChangeAdd     ChangeKind = iota + 1 // a replica, as a learner
	ChangePromote                       // a learner to a voter
	ChangeRemove                        // a replica, for ever
)

// Change is a change of the membership of a group.
type Change struct {
	Kind    ChangeKind
	Replica uint64
	// Host and Incarnation are those of a replica that is added.
	Host        shard.HostID
	Incarnation shard.Incarnation
	// For is the number of the membership that the change is for.
	For uint64
}

// change is a Change in the log.
type change struct {
	Change
	busy    bool     // it was not taken, because another one is under way
	refused error    // why it has changed nothing, once it is committed
	gone    *replica // the replica that it has removed
}

var _ shard.Members = (*Log)(nil)

// ChangeMembership hands a change of the membership to the log: what AddLearner, Promote and Remove do without waiting.
func (l *Log) ChangeMembership(c Change, done func(error)) error {
	return locked(l.net, func() error {
		p := &proposal{log: l, change: &change{Change: c}}
		p.done = func(o shard.Outcome) { done(p.change.result(l.replica, o)) }
		return l.begin(p, nil)
	})
}

// result is what a change comes to at the replica that proposed it.
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

// takesNo reports whether the leader takes no change now, because one may be in its log that is not known to be
// committed. Until its first commit it does not know what its predecessors have left.
func (l *Log) takesNo(c *change) bool {
	s := l.replica.store
	c.busy = s.commit < l.leading.first ||
		slices.ContainsFunc(s.between(s.commit, s.last()), func(e *entry) bool { return e.change != nil })
	return c.busy
}

// upToChange returns the entries up to the first that changes the membership.
func upToChange(entries []*entry) []*entry {
	if i := slices.IndexFunc(entries, func(e *entry) bool { return e.change != nil }); i >= 0 {
		return entries[:i+1]
	}
	return entries
}

// takeEffect changes the membership by an entry that is committed. It is in force from now on for all replicas.
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

// refuses returns why a change is not made in the present membership, nil where it is.
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

// dismiss sends a replica the entry that removes it, once that is known to be committed. It is sent once: a replica
// that does not get it does not notice that it was removed.
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

// newReplica makes a replica that is no member yet.
func (g *Group) newReplica(h *host, id uint64) *replica {
	g.seats++
	return &replica{group: g, host: h, id: id, pos: g.seats - 1, store: newStore()}
}

// replica returns the replica of an id, a member or not, nil where the group has none.
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

// membership is the membership that is in force.
func (g *Group) membership() shard.Membership {
	m := shard.Membership{Change: g.change}
	for _, r := range g.replicas {
		m.Members = append(m.Members, shard.Member{Replica: r.id, Host: r.host.id, Incarnation: r.incarnation,
			Voter: r.voter})
	}
	slices.SortFunc(m.Members, func(a, b shard.Member) int { return int(a.Replica) - int(b.Replica) })
	return m
}

// Membership returns the membership that is in force, whatever the hosts know.
func (g *Group) Membership() shard.Membership { return locked(g.net, g.membership) }

// Membership implements shard.Members. Like the calls below it waits, so it is for networks that run in real time.
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

// wait begins something that has one outcome, and waits for that or for the end of the context.
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

// Applied returns the index of the last entry that this host's state machine was given.
func (l *Log) Applied() uint64 { return locked(l.net, func() uint64 { return l.applied }) }

// Progress returns how far the other members are. It is empty where this host does not lead. Snapshots travel as one
// message here, so none is ever seen under way.
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

// Replica returns the id of the replica that the log is of.
func (l *Log) Replica() uint64 { return l.replica.id }
