// Package semaphore implements semaphores in a data shard: commands that create, change, acquire and release them, and
// reads. shard/DESIGN.md, section 3, specifies each command.
//
// A semaphore has a limit, data, and a queue. Its holdings are sorted by order id: first the owners, then the waiters.
// Package machine keeps holdings, sessions, names, revisions and answers for all object kinds; this package stores only
// the rest. A semaphore grants no more than its limit, strictly in queue order.
//
// semaphore.go has the store, its encodings for readers and snapshots, and the commands that create, change and delete
// a semaphore; command.go has the row for each command. acquire.go, release.go and timeout.go decide who owns and who
// waits; release.go grants to waiters. read.go has descriptions and lists, state.go has what machines compare and
// check.
package semaphore
