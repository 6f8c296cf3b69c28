package process

import "context"

// Handler is what a member does. Its functions are called one at a time for each member, in the order in which the
// items of its inbox came: Prepare, then Coordinate on one member, and Process for each request, then Complete or
// Cancel, before the next Prepare. Each may be nil.
//
// The context of a call ends when the epoch does, at once, however long the function before it takes: what a function
// that looks at it does is done under the newest view. A function that does not return holds its member up, and with
// that the next round of all.
//
// A function that panics has failed with the text of the panic.
type Handler struct {
	// Prepare is called when an epoch opens. The round begins when it has returned on all members. An error gives the
	// round up; another epoch opens after the longest delay of the spec.
	Prepare func(ctx context.Context, r *Round) error

	// Coordinate is called on one member when all are prepared. What it returns completes the round, and is kept as its
	// result; an error gives the round up. While it waits for replies, or in Yield, the other functions of its member
	// are called: it is a member as others are, and gets its own broadcasts.
	//
	// A member without it never coordinates, as an Observer.
	Coordinate func(ctx context.Context, r *Round) (result any, err error)

	// Process is called for each request. What it returns is the reply: an error is a failure, with its text, and the
	// sender decides what comes of that. It is not repeated. With Request.Defer the reply may come later.
	Process func(ctx context.Context, r *Round, q *Request) (reply any, err error)

	// Complete is called when the coordinator has completed the round. Its context ends with the membership only,
	// because what was completed stands.
	Complete func(ctx context.Context, r *Round, result *Result)

	// Cancel is called for a round that was begun, by calling Prepare, and was not completed. All that was started for
	// it is to be ended here.
	Cancel func(r *Round)

	// Terminate is called when the membership ends: the member leaves, was removed, or its session is over. A member
	// whose session is renewed joins again, and is prepared again, after it.
	Terminate func()
}
