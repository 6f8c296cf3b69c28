// Package watch serves the streaming watches of one shard at one host, leader or follower.
//
// A watch is "this semaphore, since revision r", or the like for a view of an object of another kind. The client of a
// watch keeps a full view of the object. The hub brings the view to the present, by the changes since r or by a
// snapshot, and keeps the view there by deltas. How a change travels:
//
//	Apply        where batches are applied: finds the topics of changed objects, one map lookup each
//	worker       reads the machine, once for all watches of a topic at one revision
//	Sink         takes all frames of a connection in one go, and is flushed once
//
// The first change after a quiet time goes out at once. Changes during the sending, and for a quarter of that time
// afterwards, are merged into one delta.
//
// A connection that takes too little is left out: its watches keep their revision, and when the connection has
// drained one merged delta or a snapshot brings the watches to the present. A connection that is left out costs a
// list entry for each of its watches, however much it misses.
//
// A watch that wants only data, or only owners, does not get the rest, and its view keeps the revision of the last
// change that was sent. Nothing is missing in such a view: the client can open the watch again from this revision at
// any host.
//
// Objects of other kinds than semaphores show heads and rows, as a whole or part by part. Each part is a view with a
// revision of its own. The kind defines the meaning of the bytes; the hub reads, encodes and sends them. The file
// rows.go has all that differs from semaphores, owners.go all that only semaphores have.
//
// DESIGN.md has the guarantees, with the reasons why they hold.
//
// Caveats:
//
//   - The hub gets changes after the machine has applied them, by one goroutine, without exception. A change that the
//     hub does not get is sent with the next change of the semaphore.
//   - The hub never asks whether the replica is fresh. The server makes sure before it opens a watch, and ends the
//     watches (End) when the replica is fresh no longer.
//   - The worker makes a snapshot of many owners in one piece, and meanwhile holds up the shard's other watches:
//     about 2 ms for 10,000 owners.
package watch
