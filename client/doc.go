// Package client is the Go SDK of Signalbox: sessions, semaphores, locks that say when they are lost, and
// watches, over one connection to each host.
//
//	c, err := client.Open(ctx, "10.0.0.1:7420,10.0.0.2:7420,10.0.0.3:7420")
//	...
//	defer c.Close()
//	s, err := c.Session(ctx, "/prod/jobs")
//	...
//	lease, err := s.Semaphore("slots", client.Limit(3)).Acquire(ctx)
//	...
//	defer lease.Release(ctx)
//	work(lease.Context(), lease.Fence())
//
// A Client follows hosts, leaders and connections by itself. A Session is a lease in a coordination node: what
// it owns is given to others when it ends. A Semaphore, or an Ephemeral one that needs no creating, is a name
// that a session acquires; what it gets is a Lease. A Node reads without a session.
//
// Everything may be used by many goroutines, and every call that can wait takes a context and honours it at once, with
// one exception: a call whose request is alone on a TCP connection reads its answer by itself, and may notice up to 4
// ms late that its context has ended. A call tries again by itself what can be tried again without harm, as long as its
// context lasts: give it a deadline.
//
// # What a lock does not promise
//
// A lease says that no other session has what this one has, and that the client will say so before
// another can get it: Lease.Context ends, with the cause, and Lease.Err returns it. The client counts
// from the moment at which it sent the latest ping that a host has answered, by its own monotonic clock, and
// gives up a tenth of the session's timeout early. No clocks of two machines are compared.
//
// That covers lost connections, hosts that die, and hosts that believe in themselves too long. It cannot cover
// a program that looks at its lease, is stopped for a minute by its machine, and then goes on to write: the
// lease has been given away while it stood still, and the write comes after the next owner's. On machines that
// are put to sleep the clock itself may stand still. No lock service can know; the receiver of the write can.
//
// # The fencing token
//
// Lease.Fence is a number that is larger for each owner than for all before it. Send it along with every write
// to what the lease protects. The receiver keeps the highest that it has seen, in the same transaction as the
// data, and refuses anything below:
//
//	UPDATE account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $2
//
// Then a writer that stood still changes nothing. Signalbox does the same with its own data: Lease.Update, or
// Update with Guard, is refused with ErrFenced where the lease is not held any more, and Release gives back
// nothing but what the lease stands for. Tokens of different semaphores cannot be compared.
//
// What is only replaced where it is still what was read needs no lease: Update with IfRevision.
//
// # What is lost, and how it is reported
//
//   - A session whose connection breaks is Detached. Its leases hold; the client attaches it again, over any
//     host, and waiting acquires keep their places. What needs a new connection is done once it is attached.
//   - When no host has vouched for it in time the session is Expired: its context and those of its leases end
//     with a *SessionEnd, and so does what waits. With Renew a new session takes its place; the leases stay lost.
//   - A semaphore that is deleted by force ends the leases of its owners with ErrLeaseLost.
//   - An acquire that is given up, whatever moment that is, leaves no place in the queue and no owner behind.
//     The client sees to that in the background, also over another connection.
//
// # Other caveats
//
// A session has one place in a semaphore. Two goroutines that acquire the same semaphore with one session do
// not exclude each other: the second changes the lease of the first. Give each a session of its own; sessions
// are cheap, and share connections and pings.
//
// A request that is answered by ErrBadRequest, ErrNotFound and the like will be again. Where an outcome is not
// known the client asks again under the number that the change had, so that it takes effect once; that holds for what
// sessions do and for CreateNode, AlterNode and DropNode. Changes of semaphores without a session (Node.Create, Update,
// Resize and Delete) have no such number, and fail with ErrUnavailable.
//
// Reads may come from a host that is a little behind, unless they are asked to be Strict.
//
// # For those who change this package
//
// Start at Semaphore.Acquire in semaphore.go and follow it down: this package has what a user calls,
// client/internal/incarnation a session at its hosts, client/internal/view watches, client/internal/cluster hosts and
// routing, and client/internal/conn one connection. The doc.go of each room names its door, and DESIGN.md says what
// must hold where.
package client
