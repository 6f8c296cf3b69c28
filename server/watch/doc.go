// Package watch serves one shard's streaming watches on one host, leader or follower.
//
// A watch is "this semaphore, since revision r", or the same for a view of another kind's object. The client keeps a
// full view of the object. The hub brings the view up to date, with the changes since r or with a snapshot, and keeps
// it up to date with deltas. A change takes this path:
//
//	Apply        while batches are applied: finds the topics of changed objects, one map lookup each
//	worker       reads the machine, once for all watches of a topic at one revision
//	Sink         takes all of a connection's frames together, and is flushed once
//
// The first change after a quiet time is sent at once. Changes during the sending, and for a quarter of its duration
// afterwards, are merged into one delta.
//
// A connection with too many unsent bytes is skipped: the connection's watches keep their revision. After the
// connection has drained, a merged delta or a snapshot brings the watches up to date. A skipped connection costs a
// list entry per watch, however many changes are skipped.
//
// A watch that wants only data, or only owners, does not get the rest, and the view keeps the last sent change's
// revision. The view is still complete: the client can reopen the watch from the view's revision on every host.
//
// Objects other than semaphores show heads and rows, as a whole or in parts. Every part is a view with its own
// revision. The kind defines what the bytes mean; the hub reads, encodes and sends them. The file rows.go contains
// everything that differs from semaphores, owners.go everything that only semaphores have.
//
// DESIGN.md contains the guarantees, with the reasons why they hold.
//
// Caveats:
//
//   - The hub must get every change, after the machine has applied it, from one goroutine. A change that the hub does
//     not get is sent with the semaphore's next change.
//   - The hub never checks whether the replica is fresh. The server checks before it opens a watch, and ends the
//     watches (End) when the replica is no longer fresh.
//   - The worker builds a snapshot with many owners in one step, and meanwhile delays the shard's other watches:
//     about 2 ms for 10,000 owners.
package watch
