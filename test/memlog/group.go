package memlog

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// GroupID names a group of replicas: one shard's log.
type GroupID uint64

// Group is the replicas of one shard, and what is committed in it, whatever the replicas know.
type Group struct {
	net      *Network
	id       GroupID
	replicas []*replica // the members; the first of a bootstrap leads first
	outside  []*replica // those that are not members yet, or no more, and whose data is there
	seats    int        // how many replicas it has had
	removed  map[uint64]bool
	change   uint64 // the index of the entry that made the membership; 0 for that of the bootstrap

	term      uint64   // of the latest election
	leader    *replica // who won it
	committed committedLog
	// knownCommitted is the highest index that any replica has known to be committed.
	knownCommitted uint64
	// proof is the voters by which the last committed entry was committed.
	proof []*replica

	scratch []uint64 // for majority
}

// replica is a host's copy of a group's log, open or not.
type replica struct {
	group *Group
	host  *host
	id    uint64
	pos   int // among all that the group has had
	voter bool
	// incarnation is that of its host, as the change had it that added the replica.
	incarnation shard.Incarnation
	store       *store
	log         *Log // while it is open

	accepted []acceptance // in the terms that may still commit something with this replica
}

// ID returns the group's id.
func (g *Group) ID() GroupID { return g.id }

// Leader returns the winner of the latest election, whatever the hosts believe. It may be down, paused or cut off
// since.
func (g *Group) Leader() shard.Leadership {
	return locked(g.net, func() (l shard.Leadership) {
		if l.Term = g.term; g.leader != nil {
			l.Leader = g.leader.host.id
		}
		return l
	})
}

// Elect makes a host the leader now, without waiting for timeouts and messages. It fails with ErrNotElectable where no
// majority can vote for it.
func (g *Group) Elect(id shard.HostID) error {
	return locked(g.net, func() (err error) {
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
			return fmt.Errorf("electing host %d in group %d: %w", id, g.id, err)
		}
		return nil
	})
}

func (g *Group) replicaOn(id shard.HostID) *replica {
	for _, r := range g.replicas {
		if r.host.id == id {
			return r
		}
	}
	return nil
}

// voters yields the members that vote.
func (g *Group) voters() iter.Seq[*replica] {
	return func(yield func(*replica) bool) {
		for _, r := range g.replicas {
			if r.voter && !yield(r) {
				return
			}
		}
	}
}

// votes is how many members vote.
func (g *Group) votes() int {
	n := 0
	for range g.voters() {
		n++
	}
	return n
}

// quorum is the size of a majority.
func (g *Group) quorum() int { return g.votes()/2 + 1 }

// majority returns the highest value that a majority of the voters reach.
func (g *Group) majority(of func(*replica) uint64) uint64 {
	g.scratch = g.scratch[:0]
	for r := range g.voters() {
		g.scratch = append(g.scratch, of(r))
	}
	slices.Sort(g.scratch)
	return g.scratch[len(g.scratch)-g.quorum()]
}

// resumeHeartbeats makes leaders and followers exchange heartbeats again, where those were certain to arrive until now.
func (g *Group) resumeHeartbeats() {
	for _, r := range g.replicas {
		if r.log != nil && r.log.leading != nil {
			r.log.countElidedHeartbeats()
			r.log.keepTicking()
		}
	}
	for _, r := range g.replicas {
		if r.log != nil && r.log.heartbeatsElided {
			r.log.heartbeatsElided = false
			r.log.resetElectionTimer()
		}
	}
}

// bootstrap holds the first election as soon as all voters are open, without waiting for a timeout. A group of one
// voter does so whenever that is opened.
func (g *Group) bootstrap(opened *replica) {
	if g.term > 0 && g.votes() > 1 || !opened.voter {
		return
	}
	var first *replica
	for r := range g.voters() {
		if r.log == nil {
			return
		}
		if first == nil {
			first = r
		}
	}
	first.log.campaign(electForced)
}

// crashed leaves the replica in the state that a restart finds.
func (r *replica) crashed(loseUnsynced bool) {
	r.store.crash(loseUnsynced)
	r.recordAcceptance()
	r.group.checkDurable()
}

// ReplicaStatus is where one replica of a group stands.
type ReplicaStatus struct {
	Host             shard.HostID
	Replica          uint64
	Voter            bool
	Open             bool
	Running          bool   // its host is neither down nor paused
	shard.Leadership        // what it believes; zero when it is not open
	Leading          bool   // it believes that it leads
	Last             uint64 // index of the last entry in its log
	Synced           uint64 // the index up to which a power failure loses nothing
	Commit           uint64 // the index up to which it knows the log to be committed
	Applied          uint64 // the index up to which its state machine was given entries
	Snapshot         uint64 // index of its last snapshot
}

// Status returns where every replica stands, and up to which index the group's log is committed, whether or not a
// replica knows it.
func (g *Group) Status() (committed uint64, replicas []ReplicaStatus) {
	g.net.do(func() {
		committed = g.committed.last()
		replicas = g.status()
	})
	return committed, replicas
}

func (g *Group) status() []ReplicaStatus {
	var all []ReplicaStatus
	for _, r := range g.replicas {
		s := ReplicaStatus{
			Host: r.host.id, Replica: r.id, Voter: r.voter, Running: r.host.runs(),
			Last: r.store.last(), Synced: r.store.synced, Commit: r.store.commit,
			Snapshot: r.store.snapshotIndex(),
		}
		if l := r.log; l != nil {
			s.Open, s.Leadership, s.Leading, s.Applied = true, l.leadership, l.leading != nil, l.applied
		}
		all = append(all, s)
	}
	return all
}

// String describes the group: a line for what is committed, then a line for each replica.
func (g *Group) String() string { return locked(g.net, g.describe) }

func (g *Group) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "group %d: term %d, committed %d\n", g.id, g.term, g.committed.last())
	for _, s := range g.status() {
		state := "closed"
		switch {
		case s.Open && s.Leading:
			state = "leads"
		case s.Open:
			state = "follows"
		}
		if !s.Running {
			state += ", stopped"
		}
		fmt.Fprintf(&b, "  host %d %s: believes %d in term %d; ", s.Host, state, s.Leader, s.Term)
		fmt.Fprintf(&b, "last %d, synced %d, commit %d, applied %d, snapshot %d\n",
			s.Last, s.Synced, s.Commit, s.Applied, s.Snapshot)
	}
	return b.String()
}
