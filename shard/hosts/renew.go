package hosts

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/clock"
)

// replicaJump is by how much the ids of replicas jump.
const replicaJump = 1 << 20

// Renewal says which cluster is made of the records of another one: of a backup, or of what was left of it.
type Renewal struct {
	Generation Generation
	Cluster    string    // its id
	Data       []ShardID // its data shards
	// First is its first host. The id is given to it here.
	First Founder
	// Jump is by how much counters grow, over all numbers that may have been given after that state.
	Jump uint64
}

// Renewed returns the records of the new cluster, and changes nothing. It has one host, with a vote in every shard. All
// others are expelled: they have data of before. Policy and audit history stay, join tokens do not.
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
	next.bear(at, first)
	next.forgetExpelled(0)
	return next, nil
}

// expelledFrom returns the record of a host that stays behind.
func expelledFrom(at At, h *Host) *Host {
	gone := State{Variant: protocol.HostExpelled, Epoch: h.Target.Epoch, Reason: ReasonExpelled,
		Text: "its cluster was restored without it", Since: clock.Moment(at.Now), Wall: at.Wall}
	if h.Current.Variant == protocol.HostExpelled {
		gone = h.Current
	}
	return &Host{ID: h.ID, Name: h.Name, Incarnation: h.Incarnation, Current: gone, Target: gone,
		Bare: clock.Moment(at.Now)}
}
