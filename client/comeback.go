package client

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/protocol"
)

// comeBack starts to attach the life again. The lock is held.
func (x *life) comeBack() {
	if !x.away && x.cause == nil {
		x.away = x.client.spawn(x.returning)
	}
}

// returning runs until the life is attached, or over.
func (x *life) returning() {
	var r retries
	var tried *host
	for {
		x.mu.Lock()
		if x.home != nil || x.cause != nil {
			x.away = false
			x.mu.Unlock()
			return
		}
		x.mu.Unlock()
		l, h, err := x.tryAttach(tried)
		if err == nil {
			continue
		}
		if reason, final := attachFailure(err); final {
			x.over(reason, messageOf(err))
			return
		}
		tried = h
		x.session.failing(x, err)
		if !x.pauseAfter(&r, err, l, h) {
			return
		}
	}
}

// pauseAfter waits before the next try to bring something about that the session needs. It returns false
// where there is none, because the session or the client has ended.
func (x *life) pauseAfter(r *retries, err error, l *link, h *host) bool {
	if x.client.redirect(x.ctx, err, l, h) != nil {
		return false
	}
	if statusOf(err).Retry() == protocol.RetryNever {
		// What a host refuses now it may allow before the session ends: a token can come back.
		err = &transportError{address: addressOf(h), err: err}
	}
	return r.again(x.ctx, x.client.ctx, err) == nil
}

func (x *life) tryAttach(tried *host) (*link, *host, error) {
	ctx, cancel := context.WithTimeoutCause(x.ctx, x.patience(), errSlow)
	defer cancel()
	l, h, err := x.attach(ctx, tried)
	if errors.Is(err, errSlow) {
		err = &transportError{address: h.address(), err: errSlow}
	}
	return l, h, err
}

func addressOf(h *host) string {
	if h == nil {
		return "of the cluster"
	}
	return h.address()
}

// messageOf returns what a host said for people.
func messageOf(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return ""
}

// part is stop for as long as the session may live, if nothing renews it.
func (x *life) part(ctx context.Context) error {
	if x.timeout > 0 {
		x.mu.Lock()
		left := x.base().add(x.timeout + x.grace).sub(x.client.clock.now())
		x.mu.Unlock()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, max(left, 0), errGone)
		defer cancel()
	}
	return x.stop(ctx)
}

// stop ends the session at its host. It ends with the context, or when a host says that the session is over: not
// earlier, because a try that is not answered may have attached the session once more, over a connection that
// the pings of others keep alive.
func (x *life) stop(ctx context.Context) error {
	s := x.stopping()
	if s.needless() {
		return nil
	}
	for {
		over, err := s.try(ctx)
		if over {
			return err
		}
		if err == nil {
			continue
		}
		if err := s.retries.again(ctx, x.client.ctx, err); err != nil {
			return err
		}
	}
}

// lay has a session ended that the client gave up by its own clock, once it may be given away anyhow, so that
// nobody waits for it through a grace period. The lock is held.
func (x *life) lay() { x.client.stops.add(x, x.base().add(x.timeout)) }

// stopLater has the session ended, however long that takes: at its host it lives for as long as its connection does, whose
// pings are those of other sessions.
func (x *life) stopLater() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.client.stops.add(x, x.client.clock.now())
}
