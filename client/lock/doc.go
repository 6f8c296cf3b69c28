// Package lock runs work under a lock that the whole cluster respects.
//
//	err := lock.Do(ctx, session, "nightly", func(ctx context.Context, fence uint64) error {
//		return report(ctx, fence)
//	})
//
// Do waits for the lock, holds it while the function runs, and gives it back. TryDo does not wait. Shared
// lets many in together, Slots lets a number in. Mutex, RWMutex and Obtain are for work that does not fit into
// one function. A lock needs no making: it is a semaphore of the session's node, by name.
//
// # What a lock does not promise
//
// A lock of a cluster is a lease. It ends when the session ends: because no host could be reached for longer
// than the session's timeout, because an operator destroyed the session, because the process stood still. The
// context of the function ends then, before the cluster gives the lock to another session. So at no moment do
// two programs that look at their contexts believe that they hold it.
//
// Yet looking and acting are two things. A program can look, be stopped by its garbage collector, its
// hypervisor or a slow disk, and act a minute later, when the lock has long been another's. A write that was
// sent in time can arrive late as well. No lock service can prevent that.
//
// Who can is the receiver of the write, with the fence: a number that is larger for every later holder of an
// exclusive lock. Send it with each write; let the store keep the largest that it has seen, and refuse what
// comes with a smaller one. The example of a guarded store shows how little that is. Without it, use a lock to
// save work that would be done twice, but not where doing it twice does harm.
//
// Those who hold a lock together, Shared or by Slots, have fences that say nothing about one another.
//
// # Goroutines
//
// A session has one place in a semaphore. The calls of this package know that, and let the goroutines that
// use one session take turns, or share its place if all of them share the lock. While such sharers overlap,
// others wait for the last of them. Slots are never shared in a session: package limiter has a session for
// each. The calls do not know of a semaphore of that name that the same session acquires by itself.
//
// No lock is recursive: a Do within a Do of the same name and session waits for ever.
package lock
