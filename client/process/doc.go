// Package process runs coordination processes: rounds in which the members of a process agree on something. An epoch
// opens whenever a member joins or leaves. One member, the coordinator, exchanges requests and replies with the other
// members, all with the same member list, until the coordinator completes the round or the next epoch ends it.
//
//	m, err := process.Join(ctx, session, "rebalance", process.Handler{
//		Coordinate: func(ctx context.Context, r *process.Round) (any, error) {
//			if _, err := r.Broadcast(ctx, "lock"); err != nil {
//				return nil, err // the epoch is over, or a member failed
//			}
//			if _, err := r.Broadcast(ctx, "execute"); err != nil {
//				return nil, err
//			}
//			_, err := r.Broadcast(ctx, "unlock")
//			return nil, err // nil completes the round
//		},
//		Process: func(ctx context.Context, r *process.Round, q *process.Request) (any, error) {
//			var step string
//			if err := q.Decode(&step); err != nil {
//				return nil, err
//			}
//			return do(ctx, step, r.Epoch())
//		},
//		Cancel:    func(*process.Round) { unlock() },
//		Terminate: unlock,
//	})
//	...
//	result, err := m.Await(ctx) // the first round with this member
//
// The functions of a Handler run one at a time for each member, and their contexts end with the epoch. A request
// reaches the receivers once, over lost connections and changes of leader, in the epoch of the request or not at all.
// Payloads are encoded by MsgPack, or by the codec that Encoding names; Typed gives payloads types.
//
// New and NewInSession return a handle for operators. An operator evicts members, restarts rounds, and asks why nothing
// moves.
//
// # Caveats
//
// A member counts until the member's session ends: a member that dies holds the round up for the timeout of the
// session. A function of the handler that goes on after the end of its context acts under a view that is over: stores
// that the function writes to must compare Round.Epoch, which is larger for every later epoch.
//
// Two members whose Process functions send requests to each other, and wait for the replies, wait for ever: at least
// one has to Defer the reply.
package process
