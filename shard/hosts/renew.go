package hosts

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/clock"
)

// replicaJump is by how much the ids of replicas jump.
const replicaJump = 1 << 20

// Renewal says how the records of a new cluster are made from the records of an old cluster: from a backup, or from
// the hosts that are left after the loss of a majority.
type Renewal struct {
	Generation Generation
	Cluster    string    // its id
	Data       []ShardID // its data shards
	// First is the first host of the new cluster. Renewed gives the host its id.
	First InitialMember
	// Jump is by how much counters grow, over all numbers that may have been given since the state was written.
	Jump uint64
}

// Renewed returns the records of the new cluster, and changes nothing in r. The new cluster has one host, with a vote
// in every shard. All old hosts are expelled, because they have the data of the old cluster. Policy and audit history
// stay, join tokens do not.
func (r *Records) Renewed(at At, n Renewal) (*Records, error) {
	next := New(n.Cluster, n.Data)
	next.generation, next.policy = n.Generation, r.policy
	next.audit = append(next.audit, r.audit...)
	next.lastHost, next.lastReplica = r.lastHost, r.lastReplica+replicaJump
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

// expelledFrom returns the record of an old host, as expelled.
func expelledFrom(at At, h *Host) *Host {
	gone := State{Variant: protocol.HostExpelled, Epoch: h.Target.Epoch, Reason: ReasonExpelled,
		Text: "its cluster was restored without it", Since: clock.Moment(at.Now), Wall: at.Wall}
	if h.Current.Variant == protocol.HostExpelled {
		gone = h.Current
	}
	return &Host{ID: h.ID, Name: h.Name, Incarnation: h.Incarnation, Current: gone, Target: gone,
		Bare: clock.Moment(at.Now)}
}
