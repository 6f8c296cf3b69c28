package shard

import (
	"context"
	"errors"
)

var (
	// ErrOtherMembership is returned for a change of a membership that is not the present membership. The change has
	// had no effect and never will.
	ErrOtherMembership = errors.New("shard: the membership is another one than that of the change")
	// ErrMembershipUnknown is returned for a change with an unknown outcome: the change may have been made, may be
	// made later, or never. Callers read the membership again to learn the outcome, and never repeat the change
	// blindly.
	ErrMembershipUnknown = errors.New("shard: the outcome of the change of the membership is not known")
	// ErrNotLeader is returned by a host that does not lead the shard. Nothing was changed.
	ErrNotLeader = errors.New("shard: this host does not lead the shard")
	// ErrMembershipRule is returned wrapped for a change that no membership allows, such as the removal of the last
	// voter or a replica id for the second time. Nothing was changed.
	ErrMembershipRule = errors.New("shard: the change of the membership is not allowed")
)

// Incarnation is drawn at random when a host's data directory is made. The incarnation is a part of the host's
// identity.
type Incarnation = [16]byte

// Member is a replica in the membership of a shard. A host has one at the most, and an id is never given twice.
type Member struct {
	Replica     uint64
	Host        HostID
	Incarnation Incarnation // of the host
	// Voter is set if the replica votes. A replica that does not vote is a learner: it gets the log and serves reads.
	Voter bool
}

// Membership is the replicas of a shard.
type Membership struct {
	// Change numbers the membership, and grows with every change.
	Change  uint64
	Members []Member // by replica
}

// Member returns the member with an id, or nil.
func (m *Membership) Member(replica uint64) *Member {
	for i := range m.Members {
		if m.Members[i].Replica == replica {
			return &m.Members[i]
		}
	}
	return nil
}

// On returns the replica on a host, or nil.
func (m *Membership) On(host HostID) *Member {
	for i := range m.Members {
		if m.Members[i].Host == host {
			return &m.Members[i]
		}
	}
	return nil
}

// Members reads and changes the membership of a shard at one host. All calls wait for the log, and may be made from
// any goroutine. One change of a shard is under way at a time; a second change meanwhile is refused with ErrLogBusy.
//
// A change names the membership to be changed by its number. If the shard has a different membership by then, the
// change has no effect and ends with ErrOtherMembership, however late the change arrives. If the context ends first,
// the outcome of a change is ErrMembershipUnknown.
type Members interface {
	// Membership reads the membership with a barrier: the result shows every change that was over before the call.
	// Any host with a replica may ask.
	Membership(ctx context.Context) (Membership, error)
	// AddLearner adds a replica on a host, at the leader. The host starts the replica as a joining replica.
	AddLearner(ctx context.Context, replica uint64, host HostID, incarnation Incarnation, change uint64) error
	// Promote makes a learner a voter, at the leader.
	Promote(ctx context.Context, replica, change uint64) error
	// Remove takes a replica out for ever, at the leader. The leader's own replica is not removed before the leadership
	// was handed over: the outcome would be unknown.
	Remove(ctx context.Context, replica, change uint64) error
}

// Progress is how much of the log a replica has, by its answers to its leader in the leader's term.
type Progress struct {
	Replica uint64
	Index   uint64 // the last acknowledged index
	// Tried is set once the leader has sent the replica anything.
	Tried bool
	// SilentMillis is the time since the replica's last answer; without any answer, the time since the first attempt.
	SilentMillis uint64
	// Percent is the received part of a snapshot, Rate is in bytes a second; both are 0 while no snapshot is being
	// sent.
	Percent, Rate uint64
}
