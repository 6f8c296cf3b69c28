// Package assign divides parts among members: which program works on which shard, topic or tenant.
//
//	m, err := assign.Join(ctx, session, "tenants", assign.Numbers(64),
//		func(ctx context.Context, p assign.Part) error { return serve(ctx, p) })
//
// While a part is the member's, the function runs for it, in a goroutine of its own; its context ends when the part
// moves to another member. Parts are divided anew whenever members come and go: evenly, and so that as few as possible
// move, or by a function of one's own. What a member keeps is not stopped.
//
// # Never two owners
//
// A part that moves is started by its new owner only when the function of the old one has returned, or when the old
// one is not a member any more: because its session is over, it has left, or an operator has put it out. So of one
// part never two functions run with contexts that live.
//
// How: whenever members come or go all of them agree on a new epoch, which one coordinates. It asks each member what
// it has; no member answers before it has handled all that it was given in epochs before. Then it has the parts stopped
// that are to move, each owner by itself, and has them started by their new owners as soon as the old one has confirmed
// that it is done. So one part that takes long to stop does not hold up others. Who is not a member of the epoch has
// nothing: the contexts of its parts ended with its membership.
//
// A program can be stopped for longer than its session lives, and go on with a part that was given to another
// meanwhile, until it notices. As with a lock, only the receiver of its writes can prevent that: each part has a
// token, a number that is larger for every later owner. Send it with each write, and let the store refuse what comes
// with a smaller one.
//
// # What is known
//
// When all is handed over the assignment is kept by the cluster, as the result of the round. Current and Watch read
// it, without a session. A member that starts again under its name gets the parts that it had, where they are still
// free. With DivideAfter and a time that is longer than a restart takes, nothing moves when programs are restarted one
// after the other.
//
// # Caveats
//
// All members are in one round: up to 2,000 of them, and an assignment of up to 64 KiB, which is names of parts and
// members mostly. A member that stands still is waited for until its session ends: what others have goes on meanwhile,
// and nothing moves. Package process, and the command line, show who is waited for.
package assign
