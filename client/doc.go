// Package client is Signalbox's Go SDK. It offers sessions, semaphores, watches, and locks that report their loss, over
// one connection to each host.
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
// A Client tracks hosts, leaders and connections automatically. A Session is a lease in a coordination node: when the
// session ends, everything it owned becomes available to other sessions. A session acquires a Semaphore by name and
// gets a Lease; an Ephemeral semaphore is created on demand. A Node reads without a session.
//
// All types are safe for concurrent use. Every call that can wait takes a context and returns as soon as the context
// ends, with one exception: a call whose request is alone on a TCP connection reads the response itself, and may notice
// the context's end up to 4 ms late. A call retries automatically whenever a retry is safe, for as long as the context
// lasts, so give the context a deadline.
//
// # Limits of locks
//
// A lease makes two promises. No other session owns the leased semaphore units. And if the lease is lost, the client
// reports the loss before another session can get the units: Lease.Context ends with the cause, and Lease.Err returns
// the cause. The client measures the session timeout on its local clock, starting when it sent the latest answered
// ping, and gives up a tenth of the timeout early. Clocks on different machines are never compared.
//
// The promises hold despite lost connections, failed hosts, and hosts that wrongly believe to be leader. They cannot
// hold for a program that checks the lease, is paused for a minute by its machine, and then writes: another session got
// the lease during the pause, and the write arrives after the next owner's writes. The same is true for a virtual
// machine that is frozen together with its clocks. (On Linux, the time during which a machine is suspended counts.) No
// lock service can detect this; the receiver of the write can.
//
// # The fencing token
//
// Lease.Fence is the fencing token, a number that is larger for each owner than for all earlier owners. Send the token
// with every write to the data that the lease protects. The receiver stores the highest token seen so far, in the same
// transaction as the data, and rejects every lower token:
//
//	UPDATE account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $2
//
// A writer that was paused then changes nothing. Signalbox protects its own data in the same way: Lease.Update, or
// Update with Guard, fails with ErrFenced if the lease is no longer held, and Release only gives back the leased units.
// Tokens from different semaphores cannot be compared.
//
// To avoid overwriting changes made since a read, use Update with IfRevision; no lease is needed.
//
// # Loss reports
//
//   - A session whose connection breaks is Detached. The leases hold. The client attaches the session again, over
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
// A session has at most one holding per semaphore. Two goroutines that acquire the same semaphore with a single session
// do not exclude each other: the second goroutine changes the first one's lease. Give each goroutine its own session;
// sessions are cheap and share connections and pings.
//
// A request that fails with an error such as ErrBadRequest or ErrNotFound would fail again. If the outcome of a change
// is unknown, the client repeats the request with the same sequence number, so the change takes effect exactly once.
// This covers all changes by sessions, and CreateNode, AlterNode and DropNode. Semaphore changes without a session
// (Node.Create, Update, Resize and Delete) have no sequence number and fail with ErrUnavailable.
//
// Reads may come from a host that is slightly behind, unless the caller asks for Strict.
//
// # For developers of this package
//
// Start at Semaphore.Acquire in semaphore.go and follow the call down. This package has the user-facing calls.
// client/internal/session implements sessions, client/internal/view watches, client/internal/cluster hosts and routing,
// and client/internal/conn a single connection. Each package's doc.go names its entry point, and DESIGN.md has the
// rules for all packages.
package client
