// Package semaphore has the semaphores of a data shard: commands that create, change, acquire and release them, and
// reads. shard/DESIGN.md, section 3, specifies each command.
//
// A semaphore has a limit, data, and a queue. Its holdings stand in one order, by order id: first the owners, then the
// waiters. Package machine keeps holdings, sessions, names, revisions and answers for all kinds of objects; the state
// here is only what a semaphore has beside them. A semaphore gives out no more than its limit, and grants strictly in
// the order of the queue.
//
// semaphore.go is the store, its forms for readers and snapshots, and the commands that create, change and delete a
// semaphore; command.go has the row of each command. acquire.go, release.go and timeout.go say who owns and who waits;
// release.go grants to waiters. read.go has descriptions and lists, state.go what machines compare and check.
package semaphore
