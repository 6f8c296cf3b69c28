package hosts

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
)

// Count is the report of one shard's counters.
type Count struct {
	Shard ShardID
	shard.Counters
}

// Count notes counters of shards, which their leaders have reported. Counters never go back.
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

// Recovery says how a data shard goes on whose majority is lost for good: a host gets the only replica of a new group,
// with what the host has of the group before.
type Recovery struct {
	Shard ShardID
	Host  shard.HostID
	// Empty is set if no host is left that has anything of the shard: the new group begins without content.
	Empty bool
	// Lost are the hosts that the majority was lost with. They are expelled.
	Lost []shard.HostID
	// Against is the reason of the governor against the recovery, by its observations; empty for none.
	Against string
}

// Recover begins a new group of a shard. The lost hosts are expelled, even where another shard loses its majority by
// that, and the replicas of the group before are members no more. The grace period is for the expelled hosts.
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
	for i := range s.Replicas {
		if p := &s.Replicas[i]; p.Member() {
			r.assign(at, s, p, Member{Role: RoleRemoved})
		}
	}
	s.Replicas = slices.DeleteFunc(s.Replicas, func(p Replica) bool {
		return p.Role == RoleNone || r.forgotten(s, &p)
	})
	r.lastReplica++
	s.Replicas = append(s.Replicas, Replica{ID: r.lastReplica, Host: n.Host})
	s.Group, s.Empty, s.Change = s.Group+1, n.Empty, 0
	s.First, s.Ordered, s.Waits, s.Overlap = r.lastReplica, at.Version, true, false
	last := max(s.Fence, s.Counted.LastOrder) + shard.OrderID(s.Jump(at.Now).Orders)
	s.Fence = (last | shard.MaxShard) + 1 + shard.OrderID(s.ID) // of the class of the shard
	s.Wish, s.WishUntil = 0, 0
	r.assign(at, s, s.Replica(r.lastReplica), Member{Role: RoleVoter})
	r.note(at, EventReplica, r.Host(n.Host), "shard %d begins anew, as group %d", s.ID, s.Group)
	r.noteBare(at)
	return Answer{Host: n.Host}
}

// recoverable refuses what the records forbid. Which hosts are really lost the governor knows.
func (r *Records) recoverable(n *Recovery) Answer {
	s, h := r.Shard(n.Shard), r.Host(n.Host)
	lost := func(id shard.HostID) bool { return slices.Contains(n.Lost, id) }
	switch {
	case s == nil:
		return refuse(protocol.StatusNotFound, "there is no shard %d", n.Shard)
	case s.ID == Meta:
		return forbid("the meta shard is recovered with the whole cluster, by signalbox cluster recover")
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
		return forbid("%d of %d voters of shard %d are left, which is a majority", left, voters, s.ID)
	case n.Empty && survives:
		return forbid("a host is left that has a replica of shard %d", s.ID)
	case !n.Empty && (mine == nil || !mine.Member()):
		return forbid("host %s has no replica of shard %d", h.Name, s.ID)
	}
	return Answer{}
}

// InitialReplica returns the replica that a group of a shard begins with, or nil: for the first group, and once the
// leader of the group has reported its membership.
func (s *Shard) InitialReplica() *Replica {
	if s.Group == 0 || s.Change != 0 {
		return nil
	}
	if i := slices.IndexFunc(s.Replicas, func(p Replica) bool { return p.Role == RoleVoter }); i >= 0 {
		return &s.Replicas[i]
	}
	return nil
}

// Jump is by how much the counters of the shard grow when it is made anew: over all that the shard may have given since
// they were reported last.
func (s *Shard) Jump(now uint64) machine.Jump {
	return machine.JumpOver(time.Duration(now-min(now, s.CountedAt)) * time.Millisecond)
}

// TimeoutBound is the longest timeout with which the leader of a shard starts and attaches sessions, and the session
// that has the timeout. The leader does not exceed the bound before a higher bound is on record.
type TimeoutBound struct {
	Term    uint64 // of the leader
	Number  uint64 // counts the bounds of the term, from 1 on
	Longest shard.Longest
}

// follows reports whether the leaders of a shard set the bound b after the bound o.
func (b *TimeoutBound) follows(o *TimeoutBound) bool {
	return b.Term > o.Term || b.Term == o.Term && b.Number > o.Number
}

// SetBound sets the bound of session timeouts of a shard, for the shard's leader at a host. A bound that comes after a
// later one changes nothing. The leader of an earlier group, and a host that is to be expelled, set no bound: an order
// for a new group finds the last bounds of everyone that it gives up.
func (r *Records) SetBound(id ShardID, host shard.HostID, b TimeoutBound) Answer {
	s, h := r.Shard(id), r.Host(host)
	switch {
	case s == nil || id == Meta:
		return refuse(protocol.StatusNotFound, "there is no data shard %d", id)
	case h == nil || !h.Living():
		return refuse(protocol.StatusStale, "host %d does not belong to the cluster", host)
	case b.Term>>shard.GroupTermBits < s.Group:
		return refuse(protocol.StatusStale, "term %d is not of group %d of shard %d", b.Term, s.Group, id)
	case !b.follows(&s.Bound):
		return Answer{Existed: true}
	}
	r.edit(id).Bound = b
	return Answer{}
}

// Longest is the session with the longest timeout of all shards, by their bounds. A session may hold something in any
// shard.
func (r *Records) Longest() (longest shard.Longest) {
	longest.Timeout = shard.UnnotedTimeout
	for _, s := range r.shards {
		longest = longest.Over(s.Bound.Longest)
	}
	return longest
}

// AcceptOverlap ends the wait of a shard that was made anew, by an operator's order.
func (r *Records) AcceptOverlap(at At, id ShardID) Answer {
	s := r.Shard(id)
	switch {
	case s == nil || id == Meta:
		return refuse(protocol.StatusNotFound, "there is no data shard %d", id)
	case !s.Waits:
		return forbid("shard %d does not wait: it was not made anew, or grants already", id)
	case s.Overlap:
		return Answer{Existed: true}
	}
	s = r.edit(id)
	s.Overlap = true
	r.note(at, EventReplica, nil, "shard %d grants before its wait is over: two may own one thing", id)
	return Answer{}
}

// Grants notes that a group of a shard has begun to grant. The leader of the shard says so.
func (r *Records) Grants(id ShardID, group uint64) Answer {
	s := r.Shard(id)
	if s == nil || s.Group != group {
		return refuse(protocol.StatusStale, "shard %d is not of group %d", id, group)
	}
	if !s.Waits {
		return Answer{Existed: true}
	}
	s = r.edit(id)
	s.Waits, s.Overlap = false, false
	return Answer{}
}
