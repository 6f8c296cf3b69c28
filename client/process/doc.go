// Package process runs coordination processes: rounds in which a group of members agrees on something. A new epoch
// opens whenever a member joins or leaves. One member, the coordinator, exchanges requests and replies with the other
// members, who all have the same member list. The round ends when the coordinator completes it or the next epoch opens.
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
//		Request: func(ctx context.Context, r *process.Round, q *process.Request) (any, error) {
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
// For each member, Handler functions run one at a time, and their contexts end with the epoch. A request reaches each
// receiver exactly once, despite lost connections and leader changes, in the request's epoch or not at all. Payloads
// are encoded with MsgPack, or with the codec set by Encoding; Typed adds static types.
//
// New and NewInSession return a handle for operators, who can evict members, restart rounds, and ask why a round does
// not progress.
//
// Most types are aliases. To see their fields and methods, run go doc on the type in package protocol/process, such as
// go doc github.com/signalbox/signalbox/protocol/process.Spec, or read docs/go-types.md.
//
// # Caveats
//
// A member counts until its session ends: a failed member delays the round by up to the session timeout. A handler
// function that continues after its context has ended works with an outdated member list. Stores must compare
// Round.Epoch, which grows with every epoch, to reject writes by such a function.
//
// Two members whose Handler.Request functions send requests to each other and wait for the replies wait forever: at
// least one member must Defer the reply.
package process
