package hosts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// ShardID names a Raft group.
type ShardID uint64

// Meta is the meta shard. Data shards count from 1.
const Meta ShardID = 0

// Role is a replica's role in its shard, by the last membership read. Package protocol/host declares the roles.
type Role = host.Role

// The roles.
const (
	RoleNone    = host.None
	RoleLearner = host.Learner
	RoleVoter   = host.Voter
	RoleRemoved = host.Removed
)

// Replica is one shard replica. The id is never reused. From FirstReplica on the id is independent of the host.
type Replica struct {
	ID   uint64
	Host shard.HostID // 0 for a replica in the membership without a record
	Role Role
	// Joined is set for a replica that was added as a learner: its host always starts it as a learner, even after it
	// has got a vote. Bootstrap replicas never have Joined set.
	Joined bool
	Since  uint64 // when the replica got its role
	// Change is the number of the membership to which the replica was to be added.
	Change uint64
	// Filled is set once the shard's leader has reported the learner as up to date.
	Filled bool
}

// Member reports whether the replica is in its shard's membership.
func (r *Replica) Member() bool { return r.Role == RoleLearner || r.Role == RoleVoter }

// Reads reports whether clients may read from the replica: from a voter, and from a learner once it is completely
// built.
func (r *Replica) Reads() bool { return r.Role == RoleVoter || r.Role == RoleLearner && r.Filled }

// Shard is the record of a shard's replicas. As with hosts, a record is replaced and never modified.
type Shard struct {
	ID ShardID
	// Change numbers the last membership read from the engine.
	Change   uint64
	Replicas []Replica // by id
	// Wish is the host an operator wants as the leader, 0 for none, until WishUntil in shard time.
	Wish      shard.HostID
	WishUntil uint64
	// Transferred is when the governor began the last transfer, 0 for none.
	Transferred uint64
	// Group numbers the shard's replica groups: the first group is 0, and each rebuild adds one. Empty is set if the
	// group began without a survivor from the previous group.
	Group uint64
	Empty bool
	// First is the group's first replica: replicas with lower ids belong to earlier groups. Ordered is the meta
	// machine's version that contains the order for the group. Fence is an order id no earlier group has reached; the
	// group begins above it. All are 0 for the first group.
	First, Ordered uint64
	Fence          shard.OrderID
	// Waits is set until the group grants. Overlap is set if an operator has ended the wait.
	Waits, Overlap bool
	// Counted are the shard's counters as reported by its leader, CountedAt is the time of the report. Both are zero
	// before the first report.
	Counted   shard.Counters
	CountedAt uint64
	// Bound is the session timeout bound from the latest leader that has set one, zero before the first.
	Bound TimeoutBound
	// Fresh is set for an added shard's group: it begins without content and without slots, and has nothing to wait
	// for, because no earlier group has granted anything.
	Fresh bool
	Phase ShardPhase
	// Weighs is the weight set by an operator, plus one; 0 if none was set.
	Weighs uint64
}

// Replica returns the replica with an id, or nil.
func (s *Shard) Replica(id uint64) *Replica {
	if i := slices.IndexFunc(s.Replicas, func(p Replica) bool { return p.ID == id }); i >= 0 {
		return &s.Replicas[i]
	}
	return nil
}

// On returns a host's replica, or nil: preferably a member, then a removed replica, then a replica that is still to be
// added.
func (s *Shard) On(host shard.HostID) *Replica {
	var best *Replica
	for i := range s.Replicas {
		p := &s.Replicas[i]
		if p.Host == host && (best == nil || p.Member() || !best.Member() && p.Role == RoleRemoved) {
			best = p
		}
	}
	return best
}

// Voters returns how many replicas vote.
func (s *Shard) Voters() (n int) {
	for i := range s.Replicas {
		n += count(s.Replicas[i].Role == RoleVoter)
	}
	return n
}

// Shards are all shards by id. Callers must not modify the list.
func (r *Records) Shards() []*Shard { return r.shards }

// Shard returns the shard with an id, or nil.
func (r *Records) Shard(id ShardID) *Shard {
	if i, ok := r.shardIndex(id); ok {
		return r.shards[i]
	}
	return nil
}

func (r *Records) shardIndex(id ShardID) (int, bool) {
	return slices.BinarySearchFunc(r.shards, id, func(s *Shard, id ShardID) int { return cmp.Compare(s.ID, id) })
}

// edit replaces a shard's record by a copy, and returns the copy.
func (r *Records) edit(id ShardID) *Shard {
	i, found := r.shardIndex(id)
	if !found {
		panic("hosts: an unknown shard is edited")
	}
	next := *r.shards[i]
	next.Replicas = slices.Clone(next.Replicas)
	r.shards[i] = &next
	r.revision++
	return &next
}

// NextReplica is the next replica's id.
func (r *Records) NextReplica() uint64 { return r.lastReplica + 1 }

// Allocate issues an id for a shard replica on a host, before the replica is added to the membership with the number
// change. The id is NextReplica, or the id of a replica on the same host that was allocated and never added.
func (r *Records) Allocate(at At, id ShardID, host shard.HostID, replica, change uint64) Answer {
	s, h := r.Shard(id), r.Host(host)
	if s == nil || h == nil || !h.Living() {
		return refuse(protocol.StatusNotFound, "there is no shard %d, or host %d does not belong to the cluster", id,
			host)
	}
	old := s.Replica(replica)
	switch {
	case old != nil && (old.Host != host || old.Role != RoleNone):
		return refuse(protocol.StatusStale, "replica %d already exists in shard %d", replica, id)
	case old == nil && replica != r.NextReplica():
		return refuse(protocol.StatusStale, "the next replica has the id %d, not %d", r.NextReplica(), replica)
	case old == nil && s.On(host) != nil:
		return forbid("shard %d already has a replica on host %s", id, h.Name)
	case len(s.Replicas) >= r.mostReplicas():
		return forbid("shard %d has reached the maximum: %d replicas on record", id, r.mostReplicas())
	}
	s = r.edit(id)
	if old == nil {
		r.lastReplica = replica
		s.Replicas = append(s.Replicas, Replica{ID: replica, Host: host, Joined: true, Since: clock.Moment(at.Now)})
	}
	s.Replica(replica).Change = change
	return Answer{Host: host}
}

// Transferred records that the governor begins to transfer a shard's leadership. This ends an operator's wish.
func (r *Records) Transferred(at At, id ShardID) {
	s := r.edit(id)
	s.Wish, s.WishUntil, s.Transferred = 0, 0, clock.Moment(at.Now)
}

// Member is a replica in an engine membership.
type Member struct {
	Replica uint64
	Role    Role // RoleLearner or RoleVoter
	Filled  bool // the learner is up to date
}

// Known records a shard's membership, as read by its leader with a barrier. term is the governor's term.
func (r *Records) Known(at At, term uint64, id ShardID, change uint64, members []Member) Answer {
	s := r.Shard(id)
	switch {
	case term != at.Term:
		return refuse(protocol.StatusStale, "term %d is over", term)
	case s == nil:
		return refuse(protocol.StatusNotFound, "there is no shard %d", id)
	case s.Phase == ShardRetired:
		return refuse(protocol.StatusStale, "shard %d was removed", id)
	case len(members) == 0 || len(members) > r.mostReplicas() || !orderly(members):
		return refuse(protocol.StatusBadRequest, "a membership has 1 to %d replicas by id, learners and voters",
			r.mostReplicas())
	case change < s.Change:
		return refuse(protocol.StatusStale, "shard %d already has membership change %d", id, s.Change)
	case change == s.Change && s.agrees(members):
		return Answer{Existed: !r.fill(s, members)}
	case change == s.Change && s.Change != 0:
		return forbid("shard %d has two memberships with the number %d", id, change)
	}
	r.takeOver(at, r.edit(id), change, members)
	r.noteBare(at)
	return Answer{}
}

func orderly(members []Member) bool {
	for i, m := range members {
		if m.Role != RoleLearner && m.Role != RoleVoter || m.Replica == 0 || i > 0 &&
			members[i-1].Replica >= m.Replica {
			return false
		}
	}
	return true
}

// agrees reports whether the records have exactly the members.
func (s *Shard) agrees(members []Member) bool {
	var own []Member
	for i := range s.Replicas {
		if p := &s.Replicas[i]; p.Member() {
			own = append(own, Member{Replica: p.ID, Role: p.Role})
		}
	}
	return slices.EqualFunc(own, members, func(a, b Member) bool { return a.Replica == b.Replica && a.Role == b.Role })
}

// fill records the learners that are completely built by now, and reports whether there are any.
func (r *Records) fill(s *Shard, members []Member) bool {
	news := func(m Member) bool { return m.Filled && !s.Replica(m.Replica).Reads() }
	if !slices.ContainsFunc(members, news) {
		return false
	}
	s = r.edit(s.ID)
	for _, m := range members {
		if p := s.Replica(m.Replica); m.Filled && !p.Reads() {
			p.Filled = true
			r.reroute(p)
		}
	}
	return true
}

// reroute records a change relevant to client routing: whether clients may read from a replica.
func (r *Records) reroute(p *Replica) {
	if i, found := r.hostIndex(p.Host); found {
		next := *r.hosts[i]
		next.Changed = r.revision // in the edited shard
		r.hosts[i] = &next
	}
}

func (r *Records) takeOver(at At, s *Shard, change uint64, members []Member) {
	s.Change = change
	for _, m := range members {
		p := s.Replica(m.Replica)
		if p == nil {
			s.Replicas = append(s.Replicas, Replica{ID: m.Replica, Host: r.initialHostOf(m.Replica)})
			r.lastReplica = max(r.lastReplica, m.Replica)
			slices.SortFunc(s.Replicas, func(a, b Replica) int { return cmp.Compare(a.ID, b.ID) })
			p = s.Replica(m.Replica)
		}
		r.assign(at, s, p, m)
	}
	for i := range s.Replicas {
		p := &s.Replicas[i]
		if p.Member() && !slices.ContainsFunc(members, func(m Member) bool { return m.Replica == p.ID }) {
			r.assign(at, s, p, Member{Role: RoleRemoved})
		}
	}
	s.Replicas = slices.DeleteFunc(s.Replicas, func(p Replica) bool { return r.forgotten(s, &p) })
}

// initialHostOf returns the host of a replica without a record: bootstrap replicas have their hosts' ids.
func (r *Records) initialHostOf(replica uint64) shard.HostID {
	if h := r.Host(shard.HostID(replica)); h != nil && replica < FirstReplica {
		return h.ID
	}
	return 0
}

func (r *Records) assign(at At, s *Shard, p *Replica, m Member) {
	role, was, read := p.Role, p.Member(), p.Reads()
	p.Role, p.Filled = m.Role, p.Filled || m.Filled
	if p.Member() != was || p.Reads() != read {
		r.reroute(p)
	}
	if role == m.Role {
		return
	}
	p.Since = clock.Moment(at.Now)
	r.note(at, EventReplica, r.Host(p.Host), "replica %d of shard %d: %s", p.ID, s.ID, m.Role)
}

// forgotten reports whether a replica's record has no further use: the replica was allocated and can no longer be
// added, or was removed, and its host is gone permanently.
func (r *Records) forgotten(s *Shard, p *Replica) bool {
	h := r.Host(p.Host)
	return p.Role == RoleNone && p.Change < s.Change || p.Role == RoleRemoved && (h == nil || !h.Living())
}

// Cleared records that a host has deleted a removed replica's data.
func (r *Records) Cleared(at At, id ShardID, replica uint64, i Incarnation) Answer {
	s := r.Shard(id)
	if s == nil {
		return refuse(protocol.StatusNotFound, "there is no shard %d", id)
	}
	p := s.Replica(replica)
	switch {
	case p == nil:
		return Answer{Existed: true}
	case p.Role != RoleRemoved:
		return forbid("replica %d in shard %d is a %s", replica, id, p.Role)
	}
	if h := r.Host(p.Host); h != nil && h.Incarnation != i {
		return forbid("replica %d in shard %d belongs to a different host", replica, id)
	}
	s = r.edit(id)
	s.Replicas = slices.DeleteFunc(s.Replicas, func(p Replica) bool { return p.ID == replica })
	r.forgetShard(at, id)
	return Answer{}
}

// noteBare records the time from which a host with the target Expelled has no replica. A replica being added may come
// late, and then the time is cleared.
func (r *Records) noteBare(at At) {
	for _, h := range r.hosts {
		if holds := r.Holds(h.ID); !h.Living() && holds == (h.Bare != 0) {
			next := *h
			if next.Bare = 0; !holds {
				next.Bare = clock.Moment(at.Now)
			}
			r.put(&next)
		}
	}
}

// Holds reports whether a host has a replica in any shard's membership.
func (r *Records) Holds(host shard.HostID) bool {
	return slices.ContainsFunc(r.shards, func(s *Shard) bool {
		return slices.ContainsFunc(s.Replicas, func(p Replica) bool { return p.Host == host && p.Member() })
	})
}

// Position is how far a replica's log reaches: the replica's term, and the last entry.
type Position struct{ Shard, Replica, Term, Last uint64 }

// MarshalText implements encoding.TextMarshaler: a record may have thousands of positions.
func (p Position) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "shard %d replica %d term %d last %d", p.Shard, p.Replica, p.Term, p.Last), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Position) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "shard %d replica %d term %d last %d", &p.Shard, &p.Replica, &p.Term, &p.Last)
	if err != nil {
		return fmt.Errorf("hosts: position %q: %w", text, err)
	}
	return nil
}

// Behind reports whether a replica at p lacks log entries it has confirmed.
func (p Position) Behind(confirmed Position) bool {
	return p.Term < confirmed.Term || p.Last < confirmed.Last
}

// LogEnd is the durable end of a host's log: a place in its files, which never moves back.
type LogEnd struct {
	Segment uint64 `json:"segment"`
	Offset  int64  `json:"offset"`
}

// Before reports whether a log that ends at e lacks content from a log that ends at least.
func (e LogEnd) Before(least LogEnd) bool {
	return e.Segment < least.Segment || e.Segment == least.Segment && e.Offset < least.Offset
}
