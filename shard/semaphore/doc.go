// Package semaphore implements semaphores in a data shard: commands for creating, changing, acquiring and releasing
// semaphores, and reads. shard/DESIGN.md, section 3, specifies each command.
//
// A semaphore has a limit, data, and a queue. The holdings are sorted by order id: first the owners, then the waiters.
// Package machine keeps holdings, sessions, names, revisions and answers for all object kinds; package semaphore stores
// only the rest. A semaphore grants no more than its limit, strictly in queue order.
//
// semaphore.go has the store, the encodings for readers and snapshots, and the commands for creating, changing and
// deleting a semaphore; command.go has a row per command. acquire.go, release.go and timeout.go decide about ownership
// and waiting; release.go grants to waiters. read.go has descriptions and lists, state.go has the data that machines
// compare and check.
package semaphore
