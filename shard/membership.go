package shard

import (
	"context"
	"errors"
)

var (
	// ErrOtherMembership is returned for a change that was made for another membership than the one that there is. It
	// has changed nothing and never will.
	ErrOtherMembership = errors.New("shard: the membership is another one than that of the change")
	// ErrMembershipUnknown is returned for a change whose outcome is not known: it may have been made, may be made
	// later, or never. The membership says which: it is read again, and the change is not repeated blindly.
	ErrMembershipUnknown = errors.New("shard: the outcome of the change of the membership is not known")
	// ErrNotLeader is returned by a host that does not lead the shard. Nothing was changed.
	ErrNotLeader = errors.New("shard: this host does not lead the shard")
	// ErrMembershipRule is returned wrapped for a change that no membership allows, such as the removal of the last
	// voter or a replica id for the second time. Nothing was changed.
	ErrMembershipRule = errors.New("shard: the change of the membership is not allowed")
)

// Incarnation is drawn at random when a host's data directory is made. It is a part of who a host is.
type Incarnation = [16]byte

// Member is a replica in the membership of a shard. A host has one at the most, and an id is never given twice.
type Member struct {
	Replica     uint64
	Host        HostID
	Incarnation Incarnation // of that host
	// Voter is set where the replica votes. One that does not is a learner: it gets the log and can be read from.
	Voter bool
}

// Membership is the replicas of a shard.
type Membership struct {
	// Change numbers the membership, and grows with every change of it.
	Change  uint64
	Members []Member // by replica
}

// Member returns the member of an id, nil where there is none.
func (m *Membership) Member(replica uint64) *Member {
	for i := range m.Members {
		if m.Members[i].Replica == replica {
			return &m.Members[i]
		}
	}
	return nil
}

// On returns the replica on a host, nil where it has none.
func (m *Membership) On(host HostID) *Member {
	for i := range m.Members {
		if m.Members[i].Host == host {
			return &m.Members[i]
		}
	}
	return nil
}

// Members reads and changes the membership of a shard at one host. All calls wait for the log, and may be made from any
// goroutine. One change of a shard is under way at a time; another one meanwhile is refused with ErrLogBusy.
//
// A change names the membership that it is for by its number: in any other one it changes nothing and ends with
// ErrOtherMembership, however late it comes. Where the context ends first the outcome of a change is
// ErrMembershipUnknown.
type Members interface {
	// Membership reads the membership with a barrier: it shows every change that was over before the call. Any host
	// with a replica may ask.
	Membership(ctx context.Context) (Membership, error)
	// AddLearner adds a replica on a host, at the leader. The host starts it as one that joins.
	AddLearner(ctx context.Context, replica uint64, host HostID, incarnation Incarnation, change uint64) error
	// Promote makes a learner a voter, at the leader.
	Promote(ctx context.Context, replica, change uint64) error
	// Remove takes a replica out for ever, at the leader. The leader's own replica is not removed before the leadership
	// was handed over: the outcome would be unknown.
	Remove(ctx context.Context, replica, change uint64) error
}

// Progress is how far a replica has the log, by what it has answered to its leader in the leader's term.
type Progress struct {
	Replica uint64
	Index   uint64 // the last that it has acknowledged
	// Tried is set once the leader has sent it anything.
	Tried bool
	// SilentMillis is how long ago it answered last; where it never did, how long that has been tried.
	SilentMillis uint64
	// Percent is how much of a snapshot it has got, Rate in bytes a second; both are 0 where it is sent none.
	Percent, Rate uint64
}
