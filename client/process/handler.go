package process

import "context"

// Handler is the work of a member. The functions are called one at a time for each member, in the order of the items
// in the inbox: Prepare, then Coordinate on one member, and Process for each request, then Complete or Cancel, before
// the next Prepare. Every function may be nil.
//
// The context of a call ends when the epoch does, at once, however long the function before takes: a function that
// looks at the context acts under the newest view. A function that does not return holds its member up, and the next
// round of all members with it.
//
// A function that panics has failed with the text of the panic.
type Handler struct {
	// Prepare is called when an epoch opens. The round begins when Prepare has returned on all members. An error gives
	// the round up; another epoch opens after the longest delay of the spec.
	Prepare func(ctx context.Context, r *Round) error

	// Coordinate is called on one member when all are prepared. The returned result completes the round, and is kept;
	// an error gives the round up. While Coordinate waits for replies, or in Yield, the other functions of the member
	// are called: the coordinator is a member too, and gets its own broadcasts.
	//
	// A member without Coordinate never coordinates, as an Observer.
	Coordinate func(ctx context.Context, r *Round) (result any, err error)

	// Request is called for each request. The returned value is the reply: an error is a failure, with its text, and
	// the sender decides about the consequences. The request is not repeated. With Request.Defer the reply may come
	// later.
	Request func(ctx context.Context, r *Round, q *Request) (reply any, err error)

	// Complete is called when the coordinator has completed the round. The context ends with the membership only,
	// because a completed round stands.
	Complete func(ctx context.Context, r *Round, result *Result)

	// Cancel is called for a round that was begun, by calling Prepare, and was not completed. Cancel is to end
	// everything that was started for the round.
	Cancel func(r *Round)

	// Terminate is called when the membership ends: the member leaves, was removed, or the session is over. A member
	// whose session is renewed joins again, and is prepared again, after Terminate.
	Terminate func()
}
