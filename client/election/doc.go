// Package election is leader election.
//
//	err := election.Run(ctx, session, "leader", []byte(address), func(ctx context.Context, term election.Term) error {
//		return lead(ctx, term.Fence)
//	})
//
// Run contends, leads while it can, and contends again when a term is over, until the context ends. Given a session
// with client.Recreate, Run outlives the loss of sessions. Observe and Current say who leads, and need no session.
//
// An election is a persistent semaphore with a limit of 1, made by the first candidate. The owner leads, the waiters
// are the candidates, in the order in which they came, and the order ids are the fences of the terms: each fence is
// larger than all fences before. Every name is an election of its own.
//
// A leader can lose a term, and hear of the loss late: the caveats of package lock about locks hold for terms. A
// program that takes orders from leaders should keep the largest fence seen so far, and refuse orders with a smaller
// fence.
package election
