package hosts

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
	table "github.com/signalbox/signalbox/shard/slots"
)

// Count reports one shard's counters.
type Count struct {
	Shard ShardID
	shard.Counters
}

// Count records shard counters, which the shards' leaders have reported. Counters never go back.
func (r *Records) Count(at At, term uint64, list []Count) Answer {
	if term != at.Term {
		return refuse(protocol.StatusStale, "term %d is over", term)
	}
	for _, n := range list {
		s := r.Shard(n.Shard)
		if s == nil || n.Shard == Meta {
			return refuse(protocol.StatusNotFound, "there is no data shard %d", n.Shard)
		}
		s = r.edit(n.Shard)
		s.Counted = shard.Counters{
			LastOrder:    max(n.LastOrder, s.Counted.LastOrder),
			LastRevision: max(n.LastRevision, s.Counted.LastRevision),
			LastSession:  max(n.LastSession, s.Counted.LastSession),
		}
		s.CountedAt = clock.Moment(at.Now)
	}
	return Answer{}
}

// Recovery describes how a data shard continues after it has permanently lost its majority: a host gets the new group's
// only replica, with the content the host has from the previous group.
type Recovery struct {
	Shard ShardID
	Host  shard.HostID
	// Empty is set if no remaining host has anything of the shard: the new group begins without content.
	Empty bool
	// Lost are the hosts whose loss cost the shard its majority. They are expelled.
	Lost []shard.HostID
	// Against is the governor's objection to the recovery, based on its observations; empty if there is none.
	Against string
}

// Recover begins a shard's new group. The lost hosts are expelled, even if another shard loses its majority as a
// result, and the previous group's replicas are no longer members. grace is the grace period for the expelled hosts.
func (r *Records) Recover(at At, n Recovery, grace uint64) Answer {
	if a := r.recoverable(&n); a.Status != protocol.StatusSuccess {
		return a
	}
	for _, id := range n.Lost {
		if h := r.Host(id); h.Living() {
			r.expel(at, h, ReasonExpelled, grace)
		}
		if h := *r.Host(id); !h.Lost {
			h.Lost = true
			r.put(&h)
		}
	}
	s := r.edit(n.Shard)
	r.nextGroup(at, s, n.Host)
	s.Empty, s.Fresh, s.Waits, s.Overlap = n.Empty, false, true, false
	last := max(s.Fence, r.Highest(at.Now).LastOrder)
	s.Fence = (last | shard.MaxShard) + 1 + shard.OrderID(s.ID) // in the shard's order-id class
	s.Wish, s.WishUntil = 0, 0
	r.note(at, EventReplica, r.Host(n.Host), "shard %d begins anew, as group %d", s.ID, s.Group)
	r.noteBare(at)
	return Answer{Host: n.Host}
}

// nextGroup replaces a shard's replicas with one voter on a host, as the shard's next group.
func (r *Records) nextGroup(at At, s *Shard, on shard.HostID) {
	r.dropMembers(at, s)
	r.lastReplica++
	s.Replicas = append(s.Replicas, Replica{ID: r.lastReplica, Host: on})
	s.Group, s.Change, s.First, s.Ordered = s.Group+1, 0, r.lastReplica, at.Version
	r.assign(at, s, s.Replica(r.lastReplica), Member{Role: RoleVoter})
}

// dropMembers orders that the hosts delete a shard's replicas.
func (r *Records) dropMembers(at At, s *Shard) {
	for i := range s.Replicas {
		if p := &s.Replicas[i]; p.Member() {
			r.assign(at, s, p, Member{Role: RoleRemoved})
		}
	}
	s.Replicas = slices.DeleteFunc(s.Replicas, func(p Replica) bool {
		return p.Role == RoleNone || r.forgotten(s, &p)
	})
}

// recoverable refuses recoveries the records forbid. Only the governor knows which hosts are really lost.
func (r *Records) recoverable(n *Recovery) Answer {
	s, h := r.Shard(n.Shard), r.Host(n.Host)
	lost := func(id shard.HostID) bool { return slices.Contains(n.Lost, id) }
	switch {
	case s == nil:
		return refuse(protocol.StatusNotFound, "there is no shard %d", n.Shard)
	case s.ID == Meta:
		return forbid("the meta shard is recovered with the whole cluster, by signalbox cluster recover")
	case s.Phase == ShardRetired:
		return forbid("shard %d was removed", n.Shard)
	case n.Against != "":
		return forbid("%s", n.Against)
	case h == nil || !h.Living() || lost(h.ID):
		return forbid("host %d cannot take the shard: it does not belong to the cluster", n.Host)
	case slices.ContainsFunc(n.Lost, func(id shard.HostID) bool { return r.Host(id) == nil }):
		return refuse(protocol.StatusNotFound, "a lost host is not on record")
	}
	voters, left, survives := 0, 0, false
	for i := range s.Replicas {
		p := &s.Replicas[i]
		on := r.Host(p.Host)
		gone := on == nil || !on.Living() || lost(on.ID)
		if p.Role == RoleVoter || p.Role == RoleLearner && on != nil && lost(on.ID) {
			voters++ // the log may have made a lost learner a voter
			left += count(!gone)
		}
		survives = survives || p.Member() && !gone
	}
	mine := s.On(h.ID)
	switch {
	case left >= Majority(voters):
		return forbid("shard %d has a majority: %d of %d voters are left", s.ID, left, voters)
	case n.Empty && survives:
		return forbid("a remaining host has a replica of shard %d", s.ID)
	case !n.Empty && (mine == nil || !mine.Member()):
		return forbid("host %s has no replica of shard %d", h.Name, s.ID)
	}
	return Answer{}
}

// InitialReplica returns the replica a shard's group begins with. It returns nil for the first group, and once the
// group's leader has reported its membership.
func (s *Shard) InitialReplica() *Replica {
	if s.Group == 0 || s.Change != 0 {
		return nil
	}
	if i := slices.IndexFunc(s.Replicas, func(p Replica) bool { return p.Role == RoleVoter }); i >= 0 {
		return &s.Replicas[i]
	}
	return nil
}

// Highest returns counters that no data shard has passed: the reported ones, and what each shard may have issued since.
// The counters of one shard would not do: a shard that takes a slot continues above the slot's numbers.
func (r *Records) Highest(now uint64) shard.Counters {
	highest := r.past.counters
	for _, s := range r.shards[1:] {
		jump := machine.JumpOver(time.Duration(now-min(now, s.CountedAt)) * time.Millisecond)
		highest.LastOrder = max(highest.LastOrder, s.Counted.LastOrder+shard.OrderID(jump.Orders))
		highest.LastRevision = max(highest.LastRevision, s.Counted.LastRevision+shard.Revision(jump.Others))
		highest.LastSession = max(highest.LastSession, s.Counted.LastSession)
	}
	return highest
}

// Endangered returns the slots in which a rebuilt shard may grant what sessions already hold: the slots that the shard
// has, and those that its lost replicas may have received.
func (r *Records) Endangered(id ShardID) (set shard.SlotSet) {
	r.slots.Ranges(func(first, last shard.Slot, o table.Owner) {
		if ShardID(o.Shard) == id {
			set.Add(first, last)
		}
	})
	for _, o := range r.orders {
		if o.Into == id {
			set.Add(o.Slot, o.Slot)
		}
	}
	return set
}

// TimeoutBound is the longest timeout with which a shard's leader creates and attaches sessions, and the session with
// that timeout. The leader does not exceed the bound before a higher bound is on record.
type TimeoutBound struct {
	Term    uint64 // the leader's term
	Number  uint64 // counts the bounds in the term, from 1 on
	Longest shard.Longest
}

// follows reports whether a shard's leaders set the bound b after the bound o.
func (b *TimeoutBound) follows(o *TimeoutBound) bool {
	return b.Term > o.Term || b.Term == o.Term && b.Number > o.Number
}

// past is what removed shards and earlier bounds leave behind.
type past struct {
	counters shard.Counters // no removed shard has issued higher numbers
	// longest is the longest timeout of sessions on which clients may rely until the given time, although no bound
	// covers the timeout any more: the sessions' slots have left the shard whose bound covered it.
	longest shard.Longest
	until   uint64
}

// outlives records that a bound no longer covers a timeout. Clients may rely on it until it has passed.
func (r *Records) outlives(at At, l shard.Longest) {
	now, p := clock.Moment(at.Now), &r.past
	if p.until <= now {
		p.longest = shard.Longest{}
	}
	p.longest, p.until = p.longest.Over(l), max(p.until, now+l.Timeout)
}

// SetBound sets a shard's session timeout bound, for its leader at a host. A bound that arrives after a later one
// changes nothing. A leader from an earlier group, and a host to be expelled, cannot set a bound: an order for a new
// group therefore sees the final bounds from everyone it gives up.
func (r *Records) SetBound(at At, id ShardID, host shard.HostID, b TimeoutBound) Answer {
	s, h := r.Shard(id), r.Host(host)
	switch {
	case s == nil || id == Meta:
		return refuse(protocol.StatusNotFound, "there is no data shard %d", id)
	case h == nil || !h.Living():
		return refuse(protocol.StatusStale, "host %d does not belong to the cluster", host)
	case b.Term>>shard.GroupTermBits < s.Group:
		return refuse(protocol.StatusStale, "term %d does not belong to group %d in shard %d", b.Term, s.Group, id)
	case !b.follows(&s.Bound):
		return Answer{Existed: true}
	}
	if b.Longest.Timeout < s.Bound.Longest.Timeout {
		r.outlives(at, s.Bound.Longest)
	}
	r.edit(id).Bound = b
	return Answer{}
}

// Longest is the session with the longest timeout in any shard on which a client may rely, by the shards' bounds. A
// session may hold something in any shard.
func (r *Records) Longest(now uint64) (longest shard.Longest) {
	longest.Timeout = shard.UnnotedTimeout
	if now < r.past.until {
		longest = longest.Over(r.past.longest)
	}
	for _, s := range r.shards {
		longest = longest.Over(s.Bound.Longest)
	}
	return longest
}

// AcceptOverlap ends a rebuilt shard's wait, by an operator's order.
func (r *Records) AcceptOverlap(at At, id ShardID) Answer {
	s := r.Shard(id)
	switch {
	case s == nil || id == Meta:
		return refuse(protocol.StatusNotFound, "there is no data shard %d", id)
	case !s.Waits:
		return forbid("shard %d does not wait: the shard was not rebuilt, or grants already", id)
	case s.Overlap:
		return Answer{Existed: true}
	}
	s = r.edit(id)
	s.Overlap = true
	r.note(at, EventReplica, nil, "shard %d grants before its wait is over: two may own one thing", id)
	return Answer{}
}

// Grants records that a shard's group has begun to grant, as reported by the shard's leader.
func (r *Records) Grants(id ShardID, group uint64) Answer {
	s := r.Shard(id)
	if s == nil || s.Group != group {
		return refuse(protocol.StatusStale, "shard %d is not in group %d", id, group)
	}
	if !s.Waits {
		return Answer{Existed: true}
	}
	s = r.edit(id)
	s.Waits, s.Overlap = false, false
	return Answer{}
}
