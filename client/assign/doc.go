// Package assign divides units of work among members: which program works on which shard, topic or tenant.
//
//	m, err := assign.Join(ctx, session, "tenants", assign.Numbers(64),
//		func(ctx context.Context, p assign.Partition) error { return serve(ctx, p) })
//
// While a member owns a part, the function runs for the part, in a goroutine of its own; the context ends when the
// part moves to another member. Parts are divided anew whenever members come and go: evenly, and so that as few as
// possible move, or by a function of the user. Parts that a member keeps are not stopped.
//
// # Never two owners
//
// A part that moves is started by the new owner only when the function of the old owner has returned, or when the old
// owner is not a member any more: because the session is over, the member has left, or an operator has put the member
// out. So a part never has two functions that run with live contexts.
//
// How: whenever members come or go all members agree on a new epoch, coordinated by one member. The coordinator asks
// each member for its parts; no member answers before it has handled all orders of the epochs before. Then the
// coordinator has the moving parts stopped, by each owner independently, and has the parts started by their new owners
// as soon as the old owner has confirmed the end of the work. So a part that takes long to stop does not hold up other
// parts. A program that is not a member of the epoch has no parts: their contexts ended with the membership.
//
// A program can be stopped for longer than its session lives, and go on with a part that was given to another member
// meanwhile, until the program notices. As with a lock, only the receiver of the writes can prevent harm: each part
// has a token, a number that is larger for every later owner. Send the token with each write, and let the store refuse
// writes with a smaller token.
//
// # What is known
//
// When all parts are handed over the cluster keeps the assignment, as the result of the round. Current and Watch read
// the assignment, without a session. A member that starts again under its name gets its former parts, as far as they
// are still free. With RebalanceDelay and a time that is longer than a restart takes, nothing moves when programs are
// restarted one after the other.
//
// # Caveats
//
// All members are in one round: up to 2,000 members, and an assignment of up to 64 KiB, mostly names of parts and
// members. A member that stands still is waited for until its session ends: the parts of other members go on
// meanwhile, and nothing moves. Package process, and the command line, show which member is waited for.
package assign
