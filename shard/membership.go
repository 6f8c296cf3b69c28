package shard

import (
	"context"
	"errors"
)

var (
	// ErrOtherMembership is returned if a change names a membership other than the present one. The change has had no
	// effect and never will.
	ErrOtherMembership = errors.New("shard: the membership is another one than that of the change")
	// ErrMembershipUnknown is returned for a change with an unknown outcome: the change may have been made, may be made
	// later, or never. Callers reread the membership to learn the outcome, and never repeat the change blindly.
	ErrMembershipUnknown = errors.New("shard: the outcome of the change of the membership is not known")
	// ErrNotLeader is returned by a host that does not lead the shard. Nothing was changed.
	ErrNotLeader = errors.New("shard: this host does not lead the shard")
	// ErrMembershipRule is wrapped if a change would break a membership rule, such as removing the last voter or
	// reusing a replica id. Nothing was changed.
	ErrMembershipRule = errors.New("shard: the change of the membership is not allowed")
)

// Incarnation is drawn at random when a host's data directory is created. It is part of the host's identity.
type Incarnation = [16]byte

// Member is a replica in a shard's membership. A host has at most one, and ids are never reused.
type Member struct {
	Replica     uint64
	Host        HostID
	Incarnation Incarnation // the host's incarnation
	// Voter is set if the replica votes. A replica that does not vote is a learner: it gets the log and serves reads.
	Voter bool
}

// Membership lists a shard's replicas.
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

// Members reads and changes a shard's membership at one host. All calls wait for the log, and are safe for concurrent
// use. Only one change per shard is in progress at a time; a second change meanwhile is refused with ErrLogBusy.
//
// A change names the membership to be changed by its number. If the membership has changed by then, the change has no
// effect and ends with ErrOtherMembership, however late it arrives. If the context ends first, the outcome is
// ErrMembershipUnknown.
type Members interface {
	// Membership reads the membership with a barrier: the result shows every change completed before the call. Any host
	// with a replica may ask.
	Membership(ctx context.Context) (Membership, error)
	// AddLearner adds a replica on a host, at the leader. The host starts the replica as a joining replica.
	AddLearner(ctx context.Context, replica uint64, host HostID, incarnation Incarnation, change uint64) error
	// Promote makes a learner a voter, at the leader.
	Promote(ctx context.Context, replica, change uint64) error
	// Remove removes a replica permanently, at the leader. The leader transfers leadership before its own replica is
	// removed: otherwise the outcome would be unknown.
	Remove(ctx context.Context, replica, change uint64) error
}

// Progress is how much of the log a replica has, by its answers to the leader in the leader's term.
type Progress struct {
	Replica uint64
	Index   uint64 // the last acknowledged index
	// Tried is set once the leader has sent the replica anything.
	Tried bool
	// SilentMillis is the time since the replica's last answer; without any answer, the time since the first attempt.
	SilentMillis uint64
	// Percent is the received part of a snapshot, Rate is in bytes per second; both are 0 while no snapshot is being
	// sent.
	Percent, Rate uint64
}
