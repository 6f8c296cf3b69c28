// Package memlog is the in-memory implementation of shard.Log: groups of replicas on a few hosts, with a network,
// disks, clocks and processes that fail as a test asks.
//
// It is not Raft, but its user sees what Raft would show: stale leaders, batches that are lost or committed late,
// barriers that find no majority, restarts from a snapshot. A Network checks itself at every step: where a committed
// entry would be lost, or two leaders would share a term, it panics with the seed and the latest records.
//
// A Network runs in one of two ways.
//
//   - Simulated: events happen only within Step, Advance and RunUntil, on the goroutine that calls them, in virtual
//     time. The same seed and the same calls give the same run.
//   - In real time: after Start events happen when they are due. Inside a testing/synctest bubble this is virtual time
//     as well. Delays are zero unless set, so a batch is applied in microseconds.
//
// Caveats:
//
//   - Leadership is belief; only a barrier confirms it. A host may believe that it leads before its state machine has
//     applied what earlier leaders committed, and may still believe it long after another host was elected, unless
//     Config.CheckQuorum is set.
//   - A batch proposed on a host that does not believe that it leads ends as OutcomeDropped.
//   - Entry.Data is overwritten after Apply has returned, which exposes a state machine that keeps it.
//   - Indices have gaps: every election appends an empty entry that no state machine sees.
//   - All calls for one open log (state machine and callbacks) are made one after the other, except Snapshot.Save in
//     real time, which runs beside them. A real log promises less.
//   - Methods of Network, Group and Log may be called from callbacks, but not from within a state machine. The methods
//     of Network that set faults panic for a host that the network does not have.
//
// Start reading at network.go (what there is), scheduler.go (how time passes) and log.go (one replica). The rules of
// replication are in leader.go, follower.go, election.go and barrier.go; committed.go checks them.
package memlog
