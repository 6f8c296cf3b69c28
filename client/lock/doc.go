// Package lock runs functions under a distributed lock.
//
//	err := lock.Do(ctx, session, "nightly", func(ctx context.Context, fence uint64) error {
//		return report(ctx, fence)
//	})
//
// Do waits for the lock, holds the lock while the function runs, and releases the lock. TryDo does not wait. Shared
// admits many holders at the same time, Slots a limited number. Mutex, RWMutex and Acquire are for work that does not
// fit into one function. A lock is a named semaphore in the session's node, created on demand.
//
// # Limits of locks
//
// A distributed lock is a lease. The lease ends when the session ends: because no host was reachable for longer than
// the session timeout, an operator destroyed the session, or the process was paused. The function's context then ends
// before the cluster gives the lock to another session. So two programs that check their contexts never both believe to
// hold the lock at the same time.
//
// But checking and acting are separate steps. A program can check, be paused by its garbage collector, its hypervisor
// or a slow disk, and act a minute later, long after another program got the lock. A write that was sent in time can
// also arrive late. No lock service can prevent such a write.
//
// The receiver of the write can, with the fencing token: a number that is larger for every later holder of an exclusive
// lock. Send the token with each write, and let the store keep the largest token seen so far and reject writes with a
// smaller token. The guarded store example shows how little the store has to do. Without fencing tokens, use a lock
// only to avoid duplicate work, not to prevent harm from duplicate work.
//
// Tokens from concurrent holders, with Shared or Slots, have no meaningful order.
//
// # Goroutines
//
// A session can hold a semaphore only once. In this package, goroutines with the same session take turns, or share the
// session's holding if all of them share the lock. While sharers overlap, goroutines that want the lock alone wait for
// the last sharer. Slots are never shared in a session: package limiter uses a session for each slot. This package does
// not track acquires that the session makes directly on the same semaphore.
//
// Locks are not recursive: a nested Do with the same name and session waits forever.
package lock
