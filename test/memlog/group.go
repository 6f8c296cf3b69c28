package memlog

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// GroupID identifies a replica group: one shard's log.
type GroupID uint64

// Group is the replicas of one shard, and its committed log, independent of the replicas' knowledge.
type Group struct {
	net      *Network
	id       GroupID
	replicas []*replica // members; the first bootstrap member leads first
	outside  []*replica // replicas with data that are not yet, or no longer, members
	seats    int        // number of replicas ever created
	removed  map[uint64]bool
	retired  bool   // the shard was removed: members may be discarded
	change   uint64 // index of the latest membership change; 0 for the bootstrap membership

	term      uint64   // latest election
	leader    *replica // who won it
	committed committedLog
	// knownCommitted is the highest index known by any replica to be committed.
	knownCommitted uint64
	// proof is the voters that committed the last entry.
	proof []*replica

	scratch []uint64 // for majority
}

// replica is a host's replica of a group, open or closed.
type replica struct {
	group *Group
	host  *host
	id    uint64
	pos   int // unique in the group
	voter bool
	// incarnation is the host's incarnation in the change that added the replica.
	incarnation shard.Incarnation
	store       *store
	log         *Log // while open

	accepted []acceptance // for terms that may still commit entries with this replica
}

// ID returns the group's id.
func (g *Group) ID() GroupID { return g.id }

// Leader returns the winner of the latest election, independent of hosts' beliefs. It may be down, paused or
// partitioned by now.
func (g *Group) Leader() shard.Leadership {
	return locked(g.net, func() (l shard.Leadership) {
		if l.Term = g.term; g.leader != nil {
			l.Leader = g.leader.host.id
		}
		return l
	})
}

// Elect makes a host the leader now, without timeouts and messages. It fails with ErrNotElectable if no majority can
// vote for the host.
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

// voters yields the voting members.
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

// quorum is the majority size.
func (g *Group) quorum() int { return g.votes()/2 + 1 }

// majority returns the highest value reached by a majority of voters.
func (g *Group) majority(of func(*replica) uint64) uint64 {
	g.scratch = g.scratch[:0]
	for r := range g.voters() {
		g.scratch = append(g.scratch, of(r))
	}
	slices.Sort(g.scratch)
	return g.scratch[len(g.scratch)-g.quorum()]
}

// resumeHeartbeats resumes heartbeats elided because they were certain to arrive.
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

// bootstrap holds the first election when all voters are open, without a timeout. A group with a single voter does so
// on every open.
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

// crashed puts the replica into its state after a restart.
func (r *replica) crashed(loseUnsynced bool) {
	r.store.crash(loseUnsynced)
	r.recordAcceptance()
	r.group.checkDurable()
}

// ReplicaStatus is the status of one replica.
type ReplicaStatus struct {
	Host             shard.HostID
	Replica          uint64
	Voter            bool
	Open             bool
	Running          bool   // its host is neither down nor paused
	shard.Leadership        // its belief; zero if not open
	Leading          bool   // it believes to lead
	Last             uint64 // last log index
	Synced           uint64 // last index that survives a power failure
	Commit           uint64 // highest index known to be committed
	Applied          uint64 // last index passed to the state machine
	Snapshot         uint64 // last snapshot index
}

// Status returns the status of every replica, and the index up to which the group's log is committed, whether or not
// any replica knows.
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

// String describes the group: a line for the committed log, then a line for each replica.
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
