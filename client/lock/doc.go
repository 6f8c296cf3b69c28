// Package lock runs functions under a distributed lock.
//
//	err := lock.Do(ctx, session, "nightly", func(ctx context.Context, fence uint64) error {
//		return report(ctx, fence)
//	})
//
// Do waits for the lock, holds the lock while the function runs, and gives the lock back. TryDo does not wait. Shared
// lets many holders in together, Slots lets a number in. Mutex, RWMutex and Acquire are for work that does not fit into
// one function. A lock needs no making: it is a semaphore of the session's node, by name.
//
// # What a lock does not promise
//
// A lock of a cluster is a lease. The lease ends when the session ends: because no host could be reached for longer
// than the session's timeout, because an operator destroyed the session, because the process stood still. The context
// of the function ends then, before the cluster gives the lock to another session. So at no moment do two programs
// that look at their contexts both believe that they hold the lock.
//
// Yet looking and acting are two things. A program can look, be stopped by its garbage collector, its hypervisor or a
// slow disk, and act a minute later, when the lock has long been given to another program. A write that was sent in
// time can arrive late as well. No lock service can prevent such a write.
//
// The receiver of the write can, with the fence: a number that is larger for every later holder of an exclusive lock.
// Send the fence with each write; let the store keep the largest fence seen so far, and refuse writes with a smaller
// fence. The example of a guarded store shows how little the store has to do. Without a fence, use a lock to save work
// that would be done twice, but not if work that is done twice does harm.
//
// The fences of programs that hold a lock together, Shared or by Slots, say nothing about one another.
//
// # Goroutines
//
// A session has one place in a semaphore. The calls of this package let the goroutines that use one session take
// turns, or share the place if all of them share the lock. While such sharers overlap, other goroutines wait for the
// last sharer. Slots are never shared in a session: package limiter has a session for each. The calls do not know of a
// semaphore of the same name that the session acquires without this package.
//
// No lock is recursive: a Do within a Do of the same name and session waits for ever.
package lock
