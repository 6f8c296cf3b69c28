package hosts

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/clock"
)

// replicaJump is how far the replica ids jump.
const replicaJump = 1 << 20

// Renewal describes how to derive a new cluster's records from an old cluster's records: from a backup, or from the
// hosts that survive the loss of a majority.
type Renewal struct {
	Generation Generation
	Cluster    string    // its id
	Data       []ShardID // its data shards
	// First is the new cluster's first host. Renewed assigns its id.
	First InitialMember
	// Jump is how far counters grow, past all numbers that may have been issued since the state was written.
	Jump uint64
}

// Renewed returns the new cluster's records, and changes nothing in r. The new cluster has one host, with a vote in
// every shard. All old hosts are expelled, because they have the old cluster's data. Policy and audit log stay, join
// tokens and orders to move slots do not. The data shards own equal shares of the slots, under generation zero.
func (r *Records) Renewed(at At, n Renewal) (*Records, error) {
	next := New(n.Cluster, n.Data)
	next.generation, next.policy = n.Generation, r.policy
	next.audit = append(next.audit, r.audit...)
	next.lastHost, next.lastReplica = r.lastHost, r.lastReplica+replicaJump
	next.lastShard = max(next.lastShard, r.lastShard)
	for _, s := range next.shards {
		if old := r.Shard(s.ID); old != nil {
			s.Weighs = old.Weighs
		}
	}
	next.lastAudit, next.revision = r.lastAudit+n.Jump, r.revision+n.Jump
	next.note(at, EventGeneration, nil, "%d, %x, made of a state of cluster %s", n.Generation.Number,
		n.Generation.Draw, r.cluster)
	for _, h := range r.hosts {
		next.put(expelledFrom(at, h))
	}
	first := n.First
	first.ID = r.lastHost + 1
	for _, s := range next.shards {
		next.lastReplica++
		s.Replicas = []Replica{{ID: next.lastReplica, Host: first.ID, Role: RoleVoter, Since: clock.Moment(at.Now)}}
	}
	if a := first.check(); a.Status != protocol.StatusSuccess {
		return nil, fmt.Errorf("hosts: the first host of a new cluster: %s", a.Text)
	}
	next.addInitialMember(at, first)
	next.forgetExpelled(0)
	return next, nil
}

// expelledFrom returns an old host's record, as expelled.
func expelledFrom(at At, h *Host) *Host {
	gone := State{Variant: protocol.HostExpelled, Epoch: h.Target.Epoch, Reason: ReasonExpelled,
		Text: "its cluster was restored without it", Since: clock.Moment(at.Now), Wall: at.Wall}
	if h.Current.Variant == protocol.HostExpelled {
		gone = h.Current
	}
	return &Host{ID: h.ID, Name: h.Name, Incarnation: h.Incarnation, Current: gone, Target: gone,
		Bare: clock.Moment(at.Now)}
}
