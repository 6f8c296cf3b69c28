package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// Exchange is a sent request and its replies.
type Exchange struct {
	round *Round
	done  chan struct{} // closed when the exchange ends

	// The part's lock guards these fields until done is closed.
	outcome kind.Outcome
	got     PartialReplies
}

// Send sends a request to one member and waits for the reply. The reply's Err is also returned as the error. If the
// epoch has no such member, Send fails with client.ErrNotFound. Further errors are as in Broadcast.
func (r *Round) Send(ctx context.Context, member uint64, v any, options ...SendOption) (*Reply, error) {
	replies, err := r.Broadcast(ctx, v, append(slices.Clone(options), To(member))...)
	if len(replies) > 0 && replies[0].Err != nil {
		return replies[0], failed(OpSend, r.part.member.Name(), replies[0].Err)
	}
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

// Broadcast sends a request to all members, the sender too, or to the members that the options name, and waits for all
// replies. Either all receivers get the request, once, or no receiver does.
//
// The error is a *CancelledError if the epoch ended before all members replied, a *ReplyTimeoutError if the reply
// timeout passed, and a *MemberFailedError if all members replied and some failed. The first two have the replies that
// came.
// client.ErrOverloaded reports that the inbox of a receiver is full; no receiver has got the request then.
func (r *Round) Broadcast(ctx context.Context, v any, options ...SendOption) (Replies, error) {
	x, err := r.Start(ctx, v, options...)
	if err != nil {
		return nil, err
	}
	return x.Wait(ctx)
}

// Start is Broadcast without waiting for replies: it returns when hosts have the request. Requests from one goroutine
// reach each receiver in sending order. A member can have at most 256 exchanges at a time. Within a single
// Handler.Request call, 256 is also the total, because ends of exchanges are acknowledged after the current request. A
// function that sends more must defer the reply.
func (r *Round) Start(ctx context.Context, v any, options ...SendOption) (x *Exchange, err error) {
	Yield(ctx, func() { x, err = r.start(ctx, v, options) })
	return x, failed(OpSend, r.part.member.Name(), err)
}

func (r *Round) start(ctx context.Context, v any, options []SendOption) (*Exchange, error) {
	c := option.Apply(&sendConfig{}, options)
	payload, err := encode(r.part.member.config.codec, v)
	if err != nil {
		return nil, err
	}
	if ctx.Value(preparing{}) == r {
		return nil, errPreparing
	}
	ctx, cancel := object.Within(ctx, r.ctx)
	defer cancel()
	m := &protocol.ProcessSend{Payload: payload, TimeoutMillis: field.MillisOf(c.timeout)}
	receivers, err := r.address(ctx, m, c)
	if err == nil && receivers == 0 && r.ctx.Err() == nil {
		x := &Exchange{round: r, done: make(chan struct{}), outcome: kind.OutcomeAll}
		close(x.done)
		return x, nil
	}
	var x *Exchange
	if err == nil {
		x, err = r.sendPrepared(ctx, m)
	}
	return x, r.errorOf(err)
}

var errPreparing = failure.BadRequest("cannot send in Prepare: requests are possible after Prepare has returned " +
	"on all members")

// address adds the receivers to a request and returns their number.
func (r *Round) address(ctx context.Context, m *protocol.ProcessSend, c *sendConfig) (receivers int, err error) {
	switch {
	case !c.named && c.matching == nil && c.others:
		m.Audience = kind.ToOthers
		return r.size - 1, nil
	case !c.named && c.matching == nil:
		m.Audience = kind.ToAll
		return r.size, nil
	}
	ids := c.to
	if c.matching != nil {
		if ids, err = r.matching(ctx, c); err != nil {
			return 0, err
		}
	}
	m.Audience = kind.ToMembers
	for _, id := range ids {
		if !c.others || id != r.part.id {
			m.To.Append(protocol.OrderID(id))
		}
	}
	return m.To.Len(), nil
}

// matching returns the ids of a request's receivers.
func (r *Round) matching(ctx context.Context, c *sendConfig) (ids []uint64, err error) {
	peers, err := r.Members(ctx)
	if err != nil {
		return nil, err
	}
	for _, peer := range peers {
		if (!c.named || slices.Contains(c.to, peer.ID)) && c.matching(peer) {
			ids = append(ids, peer.ID)
		}
	}
	return ids, nil
}

// sendPrepared sends a request once all members are prepared. Hosts only notify the coordinator; other members retry
// until a host accepts the request.
func (r *Round) sendPrepared(ctx context.Context, m *protocol.ProcessSend) (*Exchange, error) {
	select {
	case <-r.prepared:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for tries := 0; ; tries++ {
		x := &Exchange{round: r, done: make(chan struct{}), got: PartialReplies{Epoch: r.epoch}}
		err := r.part.send(ctx, r, m, x)
		switch {
		case err == nil:
			return x, nil
		case errors.Is(err, client.ErrFenced):
			return nil, r.fenced(ctx, err)
		case !errors.Is(err, client.ErrPreconditionFailed):
			return nil, err
		}
		if err := retry.Wait(ctx, retry.Requests.Pause(tries)); err != nil {
			return nil, err
		}
	}
}

// fenced waits until the member learns how the round ended, after a host reported that the round is over.
func (r *Round) fenced(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.completed:
		return fmt.Errorf("%w: the round is complete", err)
	}
}

// Wait waits for the exchange to end. The replies and the error are as in Broadcast.
func (e *Exchange) Wait(ctx context.Context) (Replies, error) {
	Yield(ctx, func() {
		select {
		case <-e.done:
		case <-ctx.Done():
		case <-e.round.ctx.Done():
		}
	})
	replies, err := e.result(ctx)
	return replies, failed(OpSend, e.round.part.member.Name(), err)
}

// result returns the exchange's outcome, or why the wait was abandoned. In the inbox, the end of an exchange comes
// before the end of its epoch.
func (e *Exchange) result(ctx context.Context) (Replies, error) {
	r := e.round
	if !isClosed(e.done) {
		over := r.over()
		if over == nil {
			return nil, context.Cause(ctx)
		}
		r.part.mu.Lock()
		defer r.part.mu.Unlock()
		return e.got.Replies, &CancelledError{PartialReplies: e.got, Cause: over}
	}
	switch e.outcome {
	case kind.OutcomeLate:
		return e.got.Replies, &ReplyTimeoutError{e.got}
	case kind.OutcomeCancelled:
		return e.got.Replies, &CancelledError{PartialReplies: e.got, Cause: cmp.Or(context.Cause(r.ctx), ErrCancelled)}
	}
	if len(e.got.Replies.Failures()) > 0 {
		return e.got.Replies, &MemberFailedError{Epoch: r.epoch, Replies: e.got.Replies}
	}
	return e.got.Replies, nil
}

// ending is the end of an exchange, as far as received.
type ending struct {
	exchange *Exchange // nil until the exchange is known
	outcome  kind.Outcome
	got      PartialReplies
	last     bool // all parts have arrived
}

// add adds a section of the end.
func (e *ending) add(m *protocol.Item, codec Codec) {
	e.got.Epoch, e.outcome = m.Epoch, m.Outcome
	for reply := range m.Replies.All() {
		e.got.Replies = append(e.got.Replies, replyOf(&reply, codec))
	}
	if m.Last {
		e.last, e.got.Missing = true, int(m.Missing)
		for id := range m.Missed.All() {
			e.got.Missed = append(e.got.Missed, uint64(id))
		}
	}
}

// end passes the received sections to the exchange. The part's lock is held.
func (e *ending) end(x *Exchange) {
	x.got.Replies = e.got.Replies
	if e.last {
		x.outcome, x.got = e.outcome, e.got
		close(x.done)
	}
}
