// Package limiter bounds how many functions run at the same time in all processes of a cluster.
//
//	exports, err := limiter.New(c, "/prod/jobs", "exports", 5)
//	...
//	err = exports.Do(ctx, func(ctx context.Context, fence uint64) error {
//		return export(ctx, fence)
//	})
//
// The limit is the limit of a persistent semaphore, made by the first use. Since a session has one place in a
// semaphore, a limiter has a session for each slot that is held or waited for, and keeps sessions for the next slots:
// so the goroutines of one process can hold all slots together, and each slot is lost alone. Sessions are cheap: all
// sessions of a client share the connections and the pings.
//
// # Order
//
// Slots are granted first come, first served. Each goroutine that waits stands for one place in the cluster's queue,
// beside the places of other processes; a slot that is granted to any session of the process goes to the process's
// goroutine with the longest wait. If more goroutines wait than the limiter may have sessions, the goroutines in
// excess stand in the queue of the process only, until a session is free.
//
// # Loss
//
// A slot is a lease, and the caveats of package lock about locks hold for slots. The context of a slot ends, with the
// reason, before the cluster gives the slot to another session. The fence is larger than the fences of all slots that
// were granted before. Slots that are held together have different fences, so a receiver keeps the largest fence of
// each written object, and not one fence for all objects.
package limiter
