package memlog

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// GroupID names a group of replicas: one shard's log.
type GroupID uint64

// Group is the replicas of one shard, and the truth about them.
type Group struct {
	net      *Network
	id       GroupID
	replicas []*replica // the first one leads first

	term   uint64   // of the latest election
	leader *replica // who won it
	truth  truth
	known  uint64 // the highest index that any replica has known to be committed

	scratch []uint64 // for majority
}

// replica is one host's part in a group, open or not.
type replica struct {
	group *Group
	host  *host
	pos   int // among the replicas of the group
	store *store
	log   *Log // while it is open

	accepted []acceptance // of the terms that may still commit something by it
}

// ID returns the group's id.
func (g *Group) ID() GroupID { return g.id }

// Leader returns who won the latest election, which is the truth, whatever any host believes. It may
// be down, paused or cut off since.
func (g *Group) Leader() shard.Leadership {
	var l shard.Leadership
	g.net.do(func() {
		if l.Term = g.term; g.leader != nil {
			l.Leader = g.leader.host.id
		}
	})
	return l
}

// Elect makes a host the leader now, as an election that everybody was ready for would. It fails with
// ErrNotElectable where no majority can vote for it.
func (g *Group) Elect(id shard.HostID) error {
	var err error
	g.net.do(func() {
		r := g.replicaOn(id)
		switch {
		case r == nil:
			err = ErrUnknownHost
		case r.log == nil:
			err = fmt.Errorf("%w: its log is not open", ErrNotElectable)
		case !r.host.runs():
			err = fmt.Errorf("%w: it is down or paused", ErrNotElectable)
		default:
			err = r.log.elect(electForced)
		}
		if err != nil {
			err = fmt.Errorf("electing host %d in group %d: %w", id, g.id, err)
		}
	})
	return err
}

func (g *Group) replicaOn(id shard.HostID) *replica {
	for _, r := range g.replicas {
		if r.host.id == id {
			return r
		}
	}
	return nil
}

// quorum is the size of a majority.
func (g *Group) quorum() int { return len(g.replicas)/2 + 1 }

// majority returns the highest value that a majority of the replicas reach.
func (g *Group) majority(of func(*replica) uint64) uint64 {
	g.scratch = g.scratch[:0]
	for _, r := range g.replicas {
		g.scratch = append(g.scratch, of(r))
	}
	slices.Sort(g.scratch)
	return g.scratch[len(g.scratch)-g.quorum()]
}

// disturb makes the group's leaders and followers find out by messages whether they hear each other.
func (g *Group) disturb() {
	for _, r := range g.replicas {
		if r.log != nil && r.log.leading != nil {
			r.log.hearQuietFollowers()
			r.log.keepTicking()
		}
	}
	for _, r := range g.replicas {
		if r.log != nil && r.log.quiet {
			r.log.quiet = false
			r.log.heardLeader()
		}
	}
}

// bootstrap holds the first election as soon as all replicas are open, without waiting for a timeout:
// there is nobody who could be disturbed. A group of one always does.
func (g *Group) bootstrap() {
	if g.term > 0 && len(g.replicas) > 1 {
		return
	}
	for _, r := range g.replicas {
		if r.log == nil {
			return
		}
	}
	g.replicas[0].log.campaign(electForced)
}

// crashed leaves the replica as a restart will find it.
func (r *replica) crashed(loseUnsynced bool) {
	r.store.crash(loseUnsynced)
	r.accepts()
	r.group.checkDurable()
}
