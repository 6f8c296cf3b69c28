package client

import (
	"context"
	"errors"
	"time"

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
	var r retries
	var tried *host
	x.mu.Lock()
	l := x.last
	x.mu.Unlock()
	if x.timeout == 0 && (l == nil || l.isDown()) {
		return nil
	}
	for {
		var err error
		h := tried
		if l == nil {
			l, h, err = x.attach(ctx, tried)
		} else {
			h = l.host
		}
		if err == nil {
			err = l.roundTrip(ctx, &protocol.SessionStop{SessionID: x.id}, nil)
		}
		switch {
		case err == nil, statusOf(err) == protocol.StatusSessionExpired && !isTransport(err):
			return nil
		case l == nil || isTransport(err) || statusOf(err) != protocol.StatusBadSession:
			if err := x.client.redirect(ctx, err, l, h); err != nil {
				return err
			}
			if err := r.again(ctx, x.client.ctx, err); err != nil {
				return err
			}
		default:
			if r.strays++; r.strays > 1 {
				return nil // it is somebody else's
			}
		}
		l, tried = nil, h
	}
}

// lay ends a session that the client gave up by its own clock, once it may be given away anyhow, so that
// nobody waits for it through a grace period.
func (x *life) lay() {
	x.mu.Lock()
	wait := x.base().add(x.timeout).sub(x.client.clock.now())
	x.mu.Unlock()
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		_ = x.stop(x.client.ctx)
	case <-x.client.ctx.Done():
	}
}
