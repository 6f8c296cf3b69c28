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

// Errors that this package reports. Test for them with errors.Is. Rejections by a host are errors from package client.
var (
	// ErrNotFound: no process has this name, or the process has no such member. The error also matches
	// client.ErrNotFound.
	ErrNotFound = errors.New("the process or the member does not exist")
	// ErrJoined: the session is already a member of the process.
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

// PartialReplies is the known part of a request's outcome if some members have not replied.
type PartialReplies struct {
	Epoch uint64
	// Replies lists the received replies in arrival order.
	Replies Replies
	// Missing is the number of missing replies. Missed lists the first members whose replies are missing. Both are
	// unknown, 0 and empty, if the membership ended before a host could report them.
	Missing int
	Missed  []uint64
}

// CancelledError is a request's error if the epoch ended before all members had replied.
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

// ReplyTimeoutError is a request's error if some members have not replied in time. The round continues.
type ReplyTimeoutError struct{ PartialReplies }

// Error names the late members.
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

// MemberFailedError is a request's error if all members have replied, some with a failure.
type MemberFailedError struct {
	Epoch uint64
	// Replies lists all replies in arrival order. A failed reply has an Err.
	Replies Replies
}

// Error includes the texts from the first failures.
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

// ReplyError is the reply from a member that could not fulfill the request.
type ReplyError struct {
	From uint64
	Text string
}

// Error names the member.
func (r *ReplyError) Error() string { return fmt.Sprintf("member %d: %s", r.From, r.Text) }

// failed adds the operation and the subject to an error.
func failed(operation client.OperationKind, name string, err error) error {
	return failure.OfObject("process", string(operation), name, err, ErrNotFound, ErrEvicted)
}

// isFinal reports whether another attempt to join is useless.
func isFinal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, client.ErrBadRequest) || errors.Is(err, client.ErrUnauthorized) ||
		errors.Is(err, client.ErrUnsupported) || errors.Is(err, client.ErrNotFound) ||
		errors.Is(err, client.ErrClosed) || errors.Is(err, ErrJoined)
}
