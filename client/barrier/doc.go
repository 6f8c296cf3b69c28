// Package barrier implements a double barrier: programs start and finish a step together.
//
//	b := barrier.New(session, "resize", 3)
//	err := b.Do(ctx, func(ctx context.Context, e *barrier.Entry) error {
//		return resize(ctx, e.Generation())
//	})
//
// Enter returns when the required number of parties have entered. Leave returns when all of them have left. Do combines
// both around a function. A party is a session, which can be inside only once and may enter again after it has left.
//
// Parties that are let in together form a generation. A barrier has one generation at a time. Additional parties wait
// for the next generation in arrival order. The generation number increases with each generation and serves as a
// fencing token, like a lock's token: send it with every write to a store that outlives the parties.
//
// # Guarantees
//
// No party is let in before its whole generation has entered. A single cluster command lets the generation in, and the
// command only succeeds while all parties have live sessions. So lost or duplicate signals never let a party in, and
// dead parties, or parties that gave up or left, do not count.
//
// A failed party delays others only until its session ends. A session that ends before the party is let in frees the
// slot for another party; a session that ends inside counts as having left. If a program stalls or is partitioned, the
// barrier waits for its session timeout.
//
// A call whose context ends has a definite result: a canceled Enter has not entered, and a canceled Leave has left
// without waiting for the other parties.
//
// # Caveats
//
// A party inside can lose its session, and the next generation may be let in before the party notices. The Entry's
// context ends in time unless the program is paused. The caveats in package lock also apply to entries.
//
// A barrier is a process in the session's node, created by the first party that enters. Rounds are stored as results,
// so package process and the command line show the parties inside and waiting.
package barrier
