package process

import "context"

// Messages gives a process's requests and replies static types. The codec is the members' codec.
type Messages[Q, R any] struct{}

// Typed returns typed messages for requests Q and replies R.
func Typed[Q, R any]() Messages[Q, R] { return Messages[Q, R]{} }

// Answer is a typed reply.
type Answer[R any] struct {
	From uint64
	// Err is a *ReplyError if the member could not fulfill the request, else nil.
	Err   error
	Value R
}

// HandleRequest converts a typed function into a Handler.Request. A request with a different type is a failure.
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

// Broadcast is Round.Broadcast with types. Received answers are returned even if there is an error.
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
