// Package barrier is a double barrier: programs start a step together, and end the step together.
//
//	b := barrier.New(session, "resize", 3)
//	err := b.Do(ctx, func(ctx context.Context, e *barrier.Entry) error {
//		return resize(ctx, e.Generation())
//	})
//
// Enter returns when as many parties have entered as the barrier is for; Leave when all of them have left. Do is both,
// around a function. A party is a session: a session enters once at a time, and again after it has left.
//
// Parties that are let in together are a generation. A barrier has one generation at a time: parties beyond the
// number, and parties that come while a generation is inside, wait for the next generation, in the order in which they
// have come. The number of a generation is above the numbers of all generations before. The number is a fencing token,
// like the token of a lock: send it along with every write of the parties to a store that outlasts them.
//
// # What holds
//
// No party is let in before all of its generation have entered. Letting them in is one command of the cluster. The
// cluster carries out the command only while all parties have sessions that are not over. So neither a lost signal nor
// a signal too many lets a party in, and no party is counted that has died, has given up or has left.
//
// No death holds parties up for long. A party whose session ends before the party is let in frees the place for
// another party; a party whose session ends inside counts as having left. Until a session has ended its party is
// waited for: a program that stands still or is cut off, for the timeout of its session.
//
// A call whose context ends leaves nothing behind: an Enter that is given up has not entered, and a Leave that is
// given up has left, without having waited for the other parties.
//
// # What a barrier does not promise
//
// A party that is inside can lose its session, and the next generation may be let in before the party has noticed. The
// context of the Entry ends then, in time as long as the program is not stopped. The caveats of package lock about
// locks hold for entries too.
//
// A barrier is a process of the session's node, made by the first party that enters. The rounds are kept as results:
// package process, and the command line, show who is inside and who waits.
package barrier
