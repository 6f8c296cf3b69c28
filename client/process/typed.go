package process

import "context"

// Messages are requests and replies of a process by their types. The codec is the codec of the members.
type Messages[Q, R any] struct{}

// Typed returns requests of the type Q, with replies of the type R.
func Typed[Q, R any]() Messages[Q, R] { return Messages[Q, R]{} }

// Answer is a reply by its type.
type Answer[R any] struct {
	From uint64
	// Err is a *ReplyError if the member could not do what the request asked for, else nil.
	Err   error
	Value R
}

// HandleRequest makes a Handler.HandleRequest of a function that takes and returns values of the types. A request of
// another type is a failure.
func (Messages[Q, R]) HandleRequest(
	f func(ctx context.Context, r *Round, q *Request, v Q) (R, error),
) func(context.Context, *Round, *Request) (any, error) {
	return func(ctx context.Context, r *Round, q *Request) (any, error) {
		var v Q
		if err := q.Decode(&v); err != nil {
			return nil, err
		}
		return f(ctx, r, q, v)
	}
}

// Send is Round.Send.
func (Messages[Q, R]) Send(
	ctx context.Context, r *Round, member uint64, v Q, options ...SendOption,
) (value R, err error) {
	reply, err := r.Send(ctx, member, v, options...)
	if err == nil {
		err = failed(OpSend, r.part.member.Name(), reply.Decode(&value))
	}
	return value, err
}

// Broadcast is Round.Broadcast. Answers that came are returned with an error too.
func (Messages[Q, R]) Broadcast(
	ctx context.Context, r *Round, v Q, options ...SendOption,
) ([]Answer[R], error) {
	replies, err := r.Broadcast(ctx, v, options...)
	answers := make([]Answer[R], len(replies))
	for i, reply := range replies {
		answers[i].From, answers[i].Err = reply.From, reply.Err
		if reply.Err != nil {
			continue
		}
		if bad := reply.Decode(&answers[i].Value); bad != nil && err == nil {
			err = failed(OpSend, r.part.member.Name(), bad)
		}
	}
	return answers, err
}
