package election

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/lock"
)

// Resign gives the term up and contends again, behind the other candidates: as the value that the function of a term
// returns, alone or wrapped. It is the cause of the term's context after Term.Resign.
//
//lint:ignore ST1012 It is a wish, not a failure.
var Resign = errors.New("election: resign")

// ErrLost: the term was lost before it was given up. The cause of the term's context has ErrLost in it.
var ErrLost = lock.ErrLost

// Term is the time for which a candidate leads without a break.
type Term struct {
	// Fence is larger than the fence of every term before. Send it along with the orders of the leader.
	Fence uint64
	// Data is the data that the leader shows to observers. It is shared and must not be changed.
	Data []byte
	// Context is the context of the function of the term. It ends with the context of Run, when the term is lost, with
	// ErrLost in the cause, and after Resign.
	Context context.Context

	resign context.CancelCauseFunc
}

// Resign ends the context of the term. The next candidate leads once the function of the term has returned, so that
// two candidates never lead at a time. Any goroutine may call Resign, also more than once.
func (t Term) Resign() { t.resign(Resign) }

// Err reports by the clock of this moment whether the term goes on: nil, or why the term is over. The context ends by
// a timer, and the timers of a process that stood still are late: ask before an action that only the leader may do.
func (t Term) Err() error {
	if t.Context.Err() != nil {
		return context.Cause(t.Context)
	}
	return lock.Err(t.Context)
}

// endedBy reports whether an error is no more than the end of the term, as the function of the term passes the end on.
// The clock decides whether the term is over, as in Err: in a process that stood still the context may not have ended
// yet.
func (t Term) endedBy(err error) bool {
	if err == nil || errors.Is(err, Resign) {
		return true
	}
	over := t.Err()
	if over == nil {
		return false
	}
	for _, e := range []error{
		over, context.Cause(t.Context), context.Canceled,
		ErrLost, client.ErrLeaseLost, client.ErrSessionExpired, client.ErrFenced,
	} {
		if e != nil && errors.Is(err, e) {
			return true
		}
	}
	return false
}
