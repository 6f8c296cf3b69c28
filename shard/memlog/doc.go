// Package memlog is the in-memory implementation of shard.Log: groups of replicas on a few hosts,
// with a network, disks, clocks and processes between them that fail the way a test says.
//
// It is not Raft, but what a user of shard.Log can see is what Raft would show: stale leaders,
// batches that are lost or committed late, barriers that find no majority, restarts from a snapshot.
// A Network judges itself all the while: where a committed entry would be lost or two leaders share a
// term it panics with the seed and its last doings.
//
// A Network runs in one of two ways.
//
//   - Simulated: nothing happens but within Step, Advance and RunUntil, on the goroutine that calls
//     them, in virtual time. The same seed and the same calls give the same run.
//   - In real time: after Start events fire when they are due. Inside a testing/synctest bubble this
//     is virtual time as well. Delays are zero unless set, so a batch is applied in microseconds.
//
// Caveats:
//
//   - Leadership is belief; only a barrier tells. A host may be told that it leads before its state
//     machine has applied what earlier leaders committed, and may believe so long after another one
//     was elected, unless Config.CheckQuorum is set.
//   - A batch proposed on a host that does not believe that it leads ends as OutcomeDropped: only
//     Forward forwards, once, and tells nobody whether it arrived.
//   - Entry.Data is overwritten after Apply has returned, so that a state machine which keeps it shows.
//   - Indices have gaps: every election appends an empty entry that no state machine sees.
//   - All calls for one open log (state machine and callbacks) are made one after the other, save for
//     Snapshot.Save in real time, which runs beside them. A real log promises less.
//   - Methods of Network, Group and Log may be called from callbacks, but not from within a state
//     machine. The methods of Network that set faults panic for a host that the network does not have.
package memlog
