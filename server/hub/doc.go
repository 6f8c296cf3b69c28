// Package hub carries the streaming watches of one shard's replica on one host, whether the host leads the
// shard or follows.
//
// A watch is "this semaphore, since revision r", or the same of a view of an object of another kind. Its client keeps
// a full view of that; the hub brings the view to the present, by the changes since r or by a snapshot, and keeps it
// there by deltas.
// How a change travels:
//
//	Apply        where batches are applied: finds the topics of what changed, one map lookup each
//	worker       reads the machine, once for all watches of a topic that stand at the same revision
//	Sink         takes all frames of a connection in one go, and is flushed once
//
// The first change after a quiet time goes out at once. Those that come while it is sent, and for a quarter of
// that time after it, are merged into one delta.
//
// A connection that takes too little is left out: its watches keep the revision they have, and are brought
// to the present by one merged delta or a snapshot when it has drained. It costs a list entry for each of
// its watches, however much it misses.
//
// A watch that wants only data, or only owners, does not get the rest, and its view keeps the revision of
// the last change that it got. Nothing is missing in such a view, and the watch can be taken up from
// that revision anywhere.
//
// Objects of other kinds than semaphores show heads and rows, as a whole or part by part: each part is a view, with a
// revision of its own. Whose bytes mean what is the kind's; the hub reads, encodes and sends them. What differs from
// semaphores is in rows.go, what is theirs alone in owners.go.
//
// DESIGN.md has the guarantees, with the reasons why they hold.
//
// Caveats:
//
//   - The hub gets changes after the machine has applied them, by one goroutine, without exception. What it does not
//     get is sent with the next change of the same semaphore.
//   - It never asks whether the replica is fresh. The server makes sure before it opens a watch, and ends the watches
//     (End) when that is no longer so.
//   - A snapshot of many owners is put together by the worker, and holds up other watches of the shard for
//     that long: about 2 ms for 10,000 owners.
package hub
