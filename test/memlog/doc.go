// Package memlog is the in-memory implementation of shard.Log: groups of replicas on a few hosts, with a network,
// disks, clocks and processes that fail on a test's request.
//
// It is not Raft, but shows the same behavior to users: stale leaders, batches lost or committed late, barriers without
// a majority, restarts from a snapshot. A Network checks itself at every step: if a committed entry would be lost, or
// two leaders would share a term, it panics with the seed and the latest records.
//
// A Network runs in one of two ways.
//
//   - Simulated: events happen only within Step, Advance and RunUntil, on the calling goroutine, in virtual time. The
//     same seed and the same calls give the same run.
//   - In real time: after Start, events happen when they are due. Inside a testing/synctest bubble this is virtual time
//     as well. Delays are zero unless set, so a batch is applied in microseconds.
//
// Caveats:
//
//   - Leadership is belief; only a barrier confirms it. A host may believe to lead before its state machine has applied
//     all entries committed by earlier leaders, and may still believe so long after another election, unless
//     Config.CheckQuorum is set.
//   - A batch proposed on a host that does not believe to lead ends as OutcomeDropped.
//   - Entry.Data is overwritten after Apply has returned, which exposes a state machine that keeps a reference.
//   - Indices have gaps: every election appends an empty entry, invisible to state machines.
//   - An open log makes all calls (state machine and callbacks) sequentially, except Snapshot.Save in real time, which
//     runs concurrently. A real log promises less.
//   - Methods of Network, Group and Log may be called from callbacks, but not from within a state machine. The methods
//     of Network that set faults panic for an unknown host.
//
// Start reading at network.go (structure), scheduler.go (time) and log.go (one replica). The replication rules are in
// leader.go, follower.go, election.go and barrier.go; committed.go checks them.
package memlog
