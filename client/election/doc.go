// Package election lets programs agree on which of them leads.
//
//	err := election.Run(ctx, session, "leader", []byte(address), func(ctx context.Context, term election.Term) error {
//		return lead(ctx, term.Fence)
//	})
//
// Run contends, leads while it can, and contends again when a term is over, until its context ends. Give it a
// session with client.Renew, and it outlives the sessions it loses. Observe and Current say who leads, and
// need no session.
//
// An election is a persistent semaphore with a limit of 1, made by its first candidate. Its owner leads, its
// waiters are the candidates, in the order in which they came, and its order ids are the fences of the terms:
// each larger than those before. Every name is an election of its own.
//
// A leader can lose its term, and hear of it late: what package lock says of locks holds for terms. A program that
// takes orders from leaders should keep the largest fence it has seen, and refuse what comes with a smaller
// one.
package election
