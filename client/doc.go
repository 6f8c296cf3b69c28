// Package client is the Go SDK of Signalbox: sessions, semaphores, watches, and locks that say when they are lost,
// over one connection to each host.
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
// A Client follows hosts, leaders and connections by itself. A Session is a lease in a coordination node: when the
// session ends, everything that the session owned is given to other sessions. A Semaphore is a name that a session
// acquires, and an acquire returns a Lease; an Ephemeral semaphore needs no creating. A Node reads without a session.
//
// Everything may be used by many goroutines. Every call that can wait takes a context and honours the context at once,
// with one exception: a call whose request is alone on a TCP connection reads the answer by itself, and may notice the
// end of the context up to 4 ms late. A call tries again by itself whenever another try can do no harm, for as long as
// the context lasts: give the context a deadline.
//
// # What a lock does not promise
//
// A lease promises two things. No other session owns the part of the semaphore that the lease stands for. And when the
// lease is lost, the client says so before another session can get the part: Lease.Context ends, with the cause, and
// Lease.Err returns the cause. The client counts from the moment of sending of the latest ping that a host has
// answered, by a clock of the client's machine, and gives up a tenth of the session's timeout early.
// Clocks of two machines are never compared.
//
// The promise covers lost connections, hosts that die, and hosts that believe for too long that they lead. The promise
// cannot cover a program that looks at the lease, is stopped for a minute by the machine, and then goes on to write:
// the lease was given away during the stop, and the write comes after the writes of the next owner. Nor can the promise
// cover a virtual machine that is frozen together with its clocks. (On Linux the time for which a machine is suspended
// counts.) No lock service can know; the receiver of the write can.
//
// # The fencing token
//
// Lease.Fence is a number that is larger for each owner than for all owners before. Send the token along with every
// write to the data that the lease protects. The receiver keeps the highest token seen so far, in the same transaction
// as the data, and refuses every lower token:
//
//	UPDATE account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $2
//
// Then a writer that stood still changes nothing. Signalbox protects its own data in the same way: Lease.Update, or
// Update with Guard, is refused with ErrFenced if the lease is not held any more, and Release gives back nothing but
// the part that the lease stands for. Tokens of different semaphores cannot be compared.
//
// An update that must not overwrite changes since the read needs no lease: use Update with IfRevision.
//
// # What is lost, and how it is reported
//
//   - A session whose connection breaks is Detached. The leases hold; the client attaches the session again, over
//     whichever host answers, and waiting acquires keep their places. Calls that need a new connection are sent once
//     the session is attached.
//   - A session is Expired when no host has vouched for the session in time: the context of the session, the contexts
//     of the leases and all waiting calls end with a *SessionEnd. With Recreate a new session takes the place of the
//     expired session; the leases stay lost.
//   - A semaphore that is deleted by force ends the leases of the owners with ErrLeaseLost.
//   - An acquire that is given up, at whatever moment, leaves no place in the queue and no owner behind. The client
//     cleans up in the background, over a new connection if necessary.
//
// # Other caveats
//
// A session has one place in a semaphore. Two goroutines that acquire the same semaphore with a single session do not
// exclude each other: the second goroutine changes the lease of the first. Give each goroutine a session of its own;
// sessions are cheap, and share connections and pings.
//
// A request that fails with ErrBadRequest, ErrNotFound and the like would fail again. If the outcome of a change is
// not known, the client asks again under the number of the change, so that the change takes effect once; so do all
// changes by sessions, and CreateNode, AlterNode and DropNode. Changes of semaphores without a session (Node.Create,
// Update, Resize and Delete) have no number, and fail with ErrUnavailable.
//
// Reads may come from a host that is a little behind, unless the caller asks for Strict.
//
// # For developers of this package
//
// Start at Semaphore.Acquire in semaphore.go and follow the call down: this package has what a user calls,
// client/internal/session a session at its hosts, client/internal/view watches, client/internal/cluster hosts and
// routing, and client/internal/conn one connection. The doc.go of every room names the door of the room, and DESIGN.md
// has the rules of all rooms.
package client
