package election

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/lock"
)

// Resign gives the term up and campaigns again, behind the other candidates, if a term's function returns it, alone or
// wrapped. It is the cause of the term's context after Term.Resign.
//
//lint:ignore ST1012 It is a wish, not a failure.
var Resign = errors.New("election: resign")

// ErrLost means that the term was lost before it was given up. The cause of the term's context wraps ErrLost.
var ErrLost = lock.ErrLost

// Term is a period during which a candidate leads without interruption.
type Term struct {
	// Fence is the fencing token, larger than in every earlier term. Send it with the leader's orders.
	Fence uint64
	// Data is the data that the leader shows to observers. It is shared and must not be changed.
	Data []byte
	// Context is the context for the term's function. It ends with Run's context, after Resign, and when the term is
	// lost, with ErrLost in the cause.
	Context context.Context

	resign context.CancelCauseFunc
}

// Resign ends the term's context. The next candidate leads once the term's function has returned, so two candidates
// never lead at a time. Resign is safe for concurrent use and may be called repeatedly.
func (t Term) Resign() { t.resign(Resign) }

// Err checks the clock and reports whether the term continues: nil, or why the term is over. The context ends by a
// timer, and timers fire late in a paused process. Call Err before an action that only the leader may do.
func (t Term) Err() error {
	if t.Context.Err() != nil {
		return context.Cause(t.Context)
	}
	return lock.Err(t.Context)
}

// endedBy reports whether an error only passes on the term's end. As in Err, the clock decides whether the term is
// over, because in a paused process the context may not have ended yet.
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
