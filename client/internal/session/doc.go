// Package session implements one session, from SESSION_START to its end, and everything done under the session: the
// lease and its clock, the semaphore queues, mutations that are sent until answered, and attaching after a connection
// is lost. A user's Session has one incarnation, or with Recreate several in sequence.
//
// Start reading at Incarnation in incarnation.go. An acquire is Incarnation.Acquire in acquire.go: the acquire waits
// for its position in the semaphore's queue (queue.go) and is sent until answered (mutation.go).
package session
