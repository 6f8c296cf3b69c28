package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Request is a request from a member, possibly the receiver itself.
type Request struct {
	// From is the sending member.
	From uint64
	Payload

	round    *Round
	exchange uint64
	deferred atomic.Bool
	replied  atomic.Bool
}

// Deferred is a request whose reply is sent later. A Deferred is safe for concurrent use.
type Deferred struct{ request *Request }

// Defer postpones the reply to Deferred.Reply, so Handler.Request can return without waiting for slow work, and the
// next request is handled. After Defer, the return value is ignored unless it is an error.
func (r *Request) Defer() *Deferred {
	r.deferred.Store(true)
	return &Deferred{r}
}

// Reply replies to the request. ErrReplied means that the request already has a reply. client.ErrFenced or a
// *CancelledError means that the round is over.
func (d *Deferred) Reply(ctx context.Context, v any) error {
	data, err := encode(d.request.codec, v)
	if err == nil {
		err = d.request.send(ctx, data, nil)
	}
	return failed(OpReply, d.request.round.part.member.Name(), err)
}

// Fail replies that the member could not fulfill the request.
func (d *Deferred) Fail(ctx context.Context, why error) error {
	return failed(OpReply, d.request.round.part.member.Name(), d.request.send(ctx, nil, why))
}

// send replies, once.
func (r *Request) send(ctx context.Context, data []byte, why error) error {
	if r.replied.Swap(true) {
		return ErrReplied
	}
	ctx, cancel := object.Within(ctx, r.round.ctx)
	defer cancel()
	return r.round.errorOf(r.reply(ctx, data, why))
}

// reply sends the reply, or the failure. A reply that hosts refuse becomes a failure too, because the sender waits for
// a reply.
func (r *Request) reply(ctx context.Context, data []byte, why error) error {
	if why != nil {
		return r.round.part.reply(ctx, r, true, failureText(why))
	}
	err := r.round.part.reply(ctx, r, false, data)
	if errors.Is(err, client.ErrBadRequest) {
		text := failureText(fmt.Errorf("the reply was rejected: %w", err))
		if again := r.round.part.reply(ctx, r, true, text); again != nil {
			return again
		}
	}
	return err
}

// failureText returns an error's text, cut to the hosts' limit.
func failureText(err error) []byte {
	text := object.Cut(err.Error(), protocol.MaxProcessFailureBytes)
	return []byte(cmp.Or(text, "no reason was given"))
}
