// Package barrier lets programs begin a step together, and end it together: a double barrier.
//
//	b := barrier.New(session, "resize", 3)
//	err := b.Do(ctx, func(ctx context.Context, e *barrier.Entry) error {
//		return resize(ctx, e.Generation())
//	})
//
// Enter returns when as many parties have entered as the barrier is for; Leave when all of them have left. Do is both,
// around a function. A party is a session: it enters once at a time, and again after it has left.
//
// Those that are let in together are a generation. There is one at a time: parties beyond the number, and parties that
// come while others are inside, wait for the next one, in the order in which they have come. A generation has a number
// that is above those of all before it. It is a fencing token, as that of a lock: send it along with what the parties
// do to something that outlasts them.
//
// # What holds
//
// No party is let in before all of its generation have entered. Letting them in is one command of the cluster, which it
// carries out only while all of them have sessions that are not over. So neither a signal that was lost nor one too
// many lets a party in, and no party is counted that has died, has given up or has left.
//
// No death holds others up. A party whose session ends before it is let in frees its place for another; one whose
// session ends inside counts as having left. Until a session has ended its party is waited for: a program that stands
// still or is cut off, for the timeout of its session.
//
// A call whose context ends leaves nothing behind: an Enter that is given up has not entered, and a Leave that is given
// up has left, without having waited for the others.
//
// # What a barrier does not promise
//
// A party that is inside can lose its session, and the next generation may be let in while it has not noticed. The
// context of its Entry ends then, in time as long as the program is not stopped. What package lock says of locks holds
// for entries too.
//
// A barrier is a process of the session's node, made by the first that enters. Its rounds are kept as results: package
// process, and the command line, show who is inside and who waits.
package barrier
