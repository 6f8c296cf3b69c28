// Package assign divides work units among members, for example shards, topics or tenants among the replicas of a
// service.
//
//	m, err := assign.Join(ctx, session, "tenants", assign.Numbers(64),
//		func(ctx context.Context, p assign.Partition) error { return serve(ctx, p) })
//
// While a member owns a partition, the handler runs for the partition in its own goroutine; the context ends when the
// partition moves to another member. Whenever members join or leave, partitions are rebalanced: evenly and with as few
// moves as possible, or by a user-defined Strategy. Work continues on partitions that a member keeps.
//
// # Never two owners
//
// The new owner starts a moving partition only after the old owner's handler has returned or the old owner's membership
// has ended, because its session ended, the member left, or an operator removed it. So a partition never has two
// running handlers with live contexts.
//
// Whenever members join or leave, all members agree on a new epoch, and one member coordinates it. The coordinator asks
// each member for its partitions; a member answers once it has handled all orders from earlier epochs. Then the
// coordinator makes each owner stop its moving partitions. As soon as an owner confirms that work on a partition has
// ended, the new owner starts it. A slow partition therefore does not delay other partitions. A program outside the
// epoch has no partitions: their contexts ended with its membership.
//
// A program can be paused for longer than its session timeout and then briefly continue to work on a partition that has
// moved meanwhile. As with a lock, only the receiver of the writes can prevent harm. Each partition has a fencing token
// that is larger for every later owner. Send the token with each write, and let the store reject writes with a smaller
// token.
//
// # Stored assignments
//
// Once all partitions are handed over, the cluster stores the assignment as the round's result. Current and Watch read
// the assignment without a session. A member that restarts with its old name gets its former partitions back if they
// are still free. To avoid moves during a rolling restart, set RebalanceDelay to more than a restart takes.
//
// # Caveats
//
// All members take part in one round: up to 2,000 members, and an assignment size up to 64 KiB, mostly partition and
// member names. A round waits for a stalled member until its session ends; meanwhile other members keep working, and no
// partition moves. Package process and the command line show the stalled member.
package assign
