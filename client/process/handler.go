package process

import "context"

// Handler implements a member. For each member, the functions are called one at a time, in inbox order: Prepare, then
// Coordinate on one member, Request for each request, then Complete or Cancel, before the next Prepare. Every function
// may be nil.
//
// A call's context ends immediately with the epoch, even while an earlier function runs, so a function that checks the
// context works with the newest member list. A function that does not return delays its member, and with it the next
// round for all members.
//
// If a function panics, it has failed with the panic text as error.
type Handler struct {
	// Prepare is called when an epoch opens. The round starts once Prepare has returned on all members. An error
	// abandons the round; another epoch opens after the spec's longest delay.
	Prepare func(ctx context.Context, r *Round) error

	// Coordinate is called on one member when all members are prepared. The returned result completes the round and is
	// stored; an error abandons the round. While Coordinate waits for replies or in Yield, the member's other functions
	// are called: the coordinator is also a member and gets its own broadcasts.
	//
	// A member without Coordinate never coordinates, like an Observer.
	Coordinate func(ctx context.Context, r *Round) (result any, err error)

	// Request is called for each request. The returned value is the reply. An error is a failure with the error text;
	// the sender decides about the consequences. The request is not repeated. With Request.Defer the reply may be sent
	// later.
	Request func(ctx context.Context, r *Round, q *Request) (reply any, err error)

	// Complete is called when the coordinator has completed the round. The context ends with the membership only,
	// because a completed round stands.
	Complete func(ctx context.Context, r *Round, result *Result)

	// Cancel is called for a round that was started by Prepare but not completed. Cancel must end everything that was
	// started for the round.
	Cancel func(r *Round)

	// Terminate is called when the membership ends: the member leaves, was removed, or the session is over. A member
	// whose session is renewed joins again, and is prepared again, after Terminate.
	Terminate func()
}
