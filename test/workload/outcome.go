package workload

import (
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// OutcomeOf is an operation's outcome for an error, with the error text.
func OutcomeOf(err error) (history.Outcome, string) {
	if err == nil {
		return history.Done, ""
	}
	for _, x := range []struct {
		err error
		is  history.Outcome
	}{
		{client.ErrNotAcquired, history.NotAcquired},
		{client.ErrSessionExpired, history.Unknown},
		{client.ErrSessionClosed, history.Unknown},
		{client.ErrNotFound, history.NotFound},
		{client.ErrAlreadyExists, history.Exists},
		{client.ErrPreconditionFailed, history.Refused},
		{client.ErrQuotaExceeded, history.OverQuota},
		{client.ErrBadRequest, history.Refused},
		{client.ErrReleased, history.Unknown}, // the client decided by itself, perhaps before a host knew
		{client.ErrLeaseLost, history.Unknown},
		{client.ErrFenced, history.Fenced},
	} {
		if errors.Is(err, x.err) {
			return x.is, err.Error()
		}
	}
	return history.Unknown, err.Error()
}

// StateOf is the state in a description, nil after an error.
func StateOf(d *client.SemaphoreDetails, err error) (*history.State, history.Outcome, string) {
	if errors.Is(err, client.ErrNotFound) {
		return &history.State{}, history.Done, ""
	}
	if err != nil {
		return nil, history.Unknown, err.Error()
	}
	s := &history.State{Exists: true, Limit: d.Limit, Data: string(d.Data), Revision: d.Revision}
	for _, o := range d.Owners {
		s.Owners = append(s.Owners, linkOf(o))
	}
	for _, w := range d.Waiters {
		s.Waiters = append(s.Waiters, history.Link{Session: w.SessionID, Order: w.OrderID, Count: w.Count})
	}
	return s, history.Done, ""
}

func linkOf(o client.Owner) history.Link {
	return history.Link{Session: o.SessionID, Order: o.OrderID, Count: o.Count}
}

// EndOf is the reason for a session's end, by the cause of its context.
func EndOf(cause error) (history.End, string) {
	var e *client.SessionEnd
	if !errors.As(cause, &e) {
		return history.Closed, fmt.Sprint(cause)
	}
	switch e.Reason {
	case client.EndClosed:
		return history.Closed, e.Error()
	case client.EndUnreachable:
		return history.Silent, e.Error()
	case client.EndDestroyed, client.EndNodeDropped:
		return history.Ended, e.Error()
	}
	return history.Expired, e.Error()
}
