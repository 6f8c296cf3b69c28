// Package election implements leader election.
//
//	err := election.Run(ctx, session, "leader", []byte(address), func(ctx context.Context, term election.Term) error {
//		return lead(ctx, term.Fence)
//	})
//
// Run campaigns, leads while it can, and campaigns again when a term is over, until the context ends. With
// client.Recreate, Run survives session loss. Observe and Current return the leader and need no session.
//
// An election is a persistent semaphore with limit 1, created by the first candidate. The owner leads, and the waiters
// are the other candidates in arrival order. Each term's fencing token is an order id, so each token is larger than all
// earlier tokens. Every name is a separate election.
//
// A leader can lose a term and notice the loss late: the caveats in package lock also apply to terms. A program that
// takes orders from leaders should store the largest fencing token seen so far and reject orders with a smaller token.
package election
