package memlog

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// ReplicaStatus is where one replica of a group stands.
type ReplicaStatus struct {
	Host     shard.HostID
	Open     bool
	Running  bool             // its host is neither down nor paused
	Belief   shard.Leadership // whom it believes to lead; zero when it is not open
	Leading  bool             // it believes that it is that one itself
	Last     uint64           // index of the last entry in its log
	Synced   uint64           // what would survive a power failure
	Commit   uint64           // what it knows to be committed
	Applied  uint64           // what its state machine was given
	Snapshot uint64           // index of its last snapshot
}

// Status returns where every replica stands, and up to which index the group's log is committed in
// truth, whoever knows it.
func (g *Group) Status() (committed uint64, replicas []ReplicaStatus) {
	g.net.do(func() {
		committed = g.truth.last()
		replicas = g.status()
	})
	return committed, replicas
}

func (g *Group) status() []ReplicaStatus {
	var all []ReplicaStatus
	for _, r := range g.replicas {
		s := ReplicaStatus{
			Host: r.host.id, Running: r.host.runs(),
			Last: r.store.last(), Synced: r.store.synced, Commit: r.store.commit,
			Snapshot: r.store.snapshotIndex(),
		}
		if l := r.log; l != nil {
			s.Open, s.Belief, s.Leading, s.Applied = true, l.belief, l.leading != nil, l.applied
		}
		all = append(all, s)
	}
	return all
}

// String draws the group: a line of truth, then a line for each replica.
func (g *Group) String() string {
	var text string
	g.net.do(func() { text = g.describe() })
	return text
}

func (g *Group) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "group %d: term %d, committed %d\n", g.id, g.term, g.truth.last())
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
		fmt.Fprintf(&b, "  host %d %s: believes %d in term %d; last %d, synced %d, commit %d, applied %d, snapshot %d\n",
			s.Host, state, s.Belief.Leader, s.Belief.Term, s.Last, s.Synced, s.Commit, s.Applied, s.Snapshot)
	}
	return b.String()
}
