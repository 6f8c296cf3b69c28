package process

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
)

// Errors that this package reports, to be tested for with errors.Is. Refusals of a host are errors of package client.
var (
	// ErrNotFound: no process has the name, or the process has no such member. The error is client.ErrNotFound too.
	ErrNotFound = errors.New("the process or the member does not exist")
	// ErrJoined: the session is a member of the process already.
	ErrJoined = errors.New("the session is already a member")
	// ErrLeft: the member has left.
	ErrLeft = errors.New("the member has left")
	// ErrEvicted: the member was evicted, or the process was deleted; the error says by whom and why. The member may
	// join again.
	ErrEvicted = errors.New("the member was removed")
	// ErrCancelled: the epoch is over. Every *CancelledError is ErrCancelled too.
	ErrCancelled = errors.New("the epoch is over")
	// ErrReplyTimeout: some members have not replied in time. Every *ReplyTimeoutError is ErrReplyTimeout too.
	ErrReplyTimeout = errors.New("some members did not reply in time")
	// ErrReplied: the request has a reply already.
	ErrReplied = errors.New("the request already has a reply")
)

// PartialReplies is the known part of a request's outcome, if some members have not replied.
type PartialReplies struct {
	Epoch uint64
	// Replies are the replies that came, in the order of their arrival.
	Replies Replies
	// Missing is the number of replies that did not come, Missed has the first of the members whose replies are
	// missing. Both are unknown, 0 and empty, if the membership ended before a host could say so.
	Missing int
	Missed  []uint64
}

// CancelledError is the error of a request whose epoch ended before all had replied.
type CancelledError struct {
	PartialReplies
	// Cause is the cause of the round's context: ErrCancelled, or why the membership ended.
	Cause error
}

// Error says how many replies came.
func (c *CancelledError) Error() string {
	return fmt.Sprintf("epoch %d: %v; %d replies received", c.Epoch, c.Cause, len(c.Replies))
}

// Is makes errors.Is match ErrCancelled.
func (c *CancelledError) Is(target error) bool { return target == ErrCancelled }

// Unwrap returns the cause.
func (c *CancelledError) Unwrap() error { return c.Cause }

// ReplyTimeoutError is the error of a request if some members have not replied in time. The round goes on.
type ReplyTimeoutError struct{ PartialReplies }

// Error names the members that are late.
func (r *ReplyTimeoutError) Error() string {
	names := make([]string, 0, len(r.Missed))
	for _, id := range r.Missed {
		names = append(names, strconv.FormatUint(id, 10))
	}
	return fmt.Sprintf("%v: %d replies received, %d missing, from the members %s", ErrReplyTimeout, len(r.Replies),
		r.Missing, strings.Join(names, ", "))
}

// Is makes errors.Is match ErrReplyTimeout.
func (r *ReplyTimeoutError) Is(target error) bool { return target == ErrReplyTimeout }

// MemberFailedError is the error of a request that all members have replied to, if some replied with a failure.
type MemberFailedError struct {
	Epoch uint64
	// Replies are all replies, in the order of their arrival. A failed reply has an Err.
	Replies Replies
}

// Error has the texts of the first failures.
func (f *MemberFailedError) Error() string {
	failed := f.Replies.Failures()
	text := fmt.Sprintf("%d of %d members failed", len(failed), len(f.Replies))
	for i, reply := range failed {
		if i == failuresNamed {
			return text + "; and others"
		}
		text += "; " + reply.Err.Error()
	}
	return text
}

const failuresNamed = 3

// ReplyError is the reply of a member that could not do what the request asked for.
type ReplyError struct {
	From uint64
	Text string
}

// Error names the member.
func (r *ReplyError) Error() string { return fmt.Sprintf("member %d: %s", r.From, r.Text) }

// failed puts the operation and the subject in front of an error.
func failed(operation client.OperationKind, name string, err error) error {
	return failure.OfObject("process", string(operation), name, err, ErrNotFound, ErrEvicted)
}

// isFinal reports whether another try to join is of no use.
func isFinal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrUnauthorized) ||
		errors.Is(err, client.ErrUnsupported) || errors.Is(err, client.ErrNotFound) ||
		errors.Is(err, client.ErrClosed) || errors.Is(err, ErrJoined)
}
