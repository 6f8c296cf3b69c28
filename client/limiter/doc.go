// Package limiter lets a limited number of functions run at a time, over all goroutines of all processes of a cluster.
//
//	exports, err := limiter.New(c, "/prod/jobs", "exports", 5)
//	...
//	err = exports.Do(ctx, func(ctx context.Context, fence uint64) error {
//		return export(ctx, fence)
//	})
//
// The limit is that of a persistent semaphore, made by its first use. Since a session has one place in a semaphore,
// a limiter has a session for each slot that is held or waited for, and keeps sessions for the next ones: so the
// goroutines of one process can hold all slots together, and each slot is lost alone. Sessions are cheap: all those of
// a client share its connections and their pings.
//
// # Order
//
// Slots are granted first come, first served. Each goroutine that waits stands for one place in the cluster's
// queue, beside those of other processes; what is granted to any session of the process goes to the goroutine that has
// waited longest in it. Where more goroutines wait than the limiter may have sessions, those in excess stand in the
// queue of the process only, until a session is free.
//
// # Loss
//
// A slot is a lease, and what package lock says of locks holds for it. Its context ends, with the reason, before the
// cluster gives the slot to another. Its fence is larger than those of all slots that were granted before it. Slots
// that are held together have different fences, so a receiver keeps the largest fence of each thing that is written,
// and not one for all.
package limiter
