// Package process lets the members of a process agree on something in rounds: whenever one of them comes or goes an
// epoch opens, one of them coordinates, and exchanges requests and replies with the others, all under the same view of
// who they are, until it completes the round, or the next epoch ends it.
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
// reaches its receivers once, over lost connections and changes of leader, in the epoch in which it was sent or not at
// all. What members say is encoded by MsgPack, or by the codec that Encoding names; Typed gives it types.
//
// Of and In return a handle for operators, who kick members, restart rounds, and ask why nothing moves.
//
// # Caveats
//
// A member counts until its session ends: the death of one holds its round up for the timeout of its session. What a
// function of the handler does after its context has ended it does under a view that is over: what it writes to goes by
// Round.Epoch, which is larger for every later epoch.
//
// Two members whose Process functions send requests to each other, and wait for the replies, wait for ever: one of them
// has to Defer its reply.
package process
