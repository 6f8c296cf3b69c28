// Package session is one session at its hosts, from SESSION_START to its end, with everything done under the
// session: the lease and the lease clock, the queues of the semaphores, the mutations that are sent until answered,
// and the attaching after a connection is lost. A Session of the user has one incarnation, or with Recreate several,
// one after the other.
//
// Start reading at Incarnation in incarnation.go. An acquire is Incarnation.Acquire in acquire.go: the acquire waits
// for its place in the queue of the semaphore (queue.go) and is sent until it is answered (mutation.go).
package session
