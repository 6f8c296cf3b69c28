// Package limiter bounds how many functions run concurrently, across all processes that use a cluster.
//
//	exports, err := limiter.New(c, "/prod/jobs", "exports", 5)
//	...
//	err = exports.Do(ctx, func(ctx context.Context, fence uint64) error {
//		return export(ctx, fence)
//	})
//
// A persistent semaphore, created on first use, enforces the limit. Since a session can hold a semaphore only once, a
// limiter uses a separate session for each slot that is held or waited for, and keeps idle sessions for the next slots.
// So the goroutines in one process can hold all slots, and slots are lost independently. Sessions are cheap, because
// all sessions in a client share connections and pings.
//
// # Order
//
// Slots are granted first come, first served. Each waiting goroutine has a position in the cluster's queue, alongside
// other processes. A slot granted to any session in the process goes to the goroutine that has waited longest. If more
// goroutines wait than the limiter may have sessions, the excess goroutines wait in the process's own queue until a
// session is free.
//
// # Loss
//
// A slot is a lease, so the caveats in package lock also apply to slots. A slot's context ends, with the reason, before
// the cluster gives the slot to another session. The fencing token is larger than the tokens of all earlier slots.
// Slots held at the same time have different tokens, so a receiver must store the largest token per written object
// instead of a single token for all objects.
package limiter
