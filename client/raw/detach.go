package raw

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// Detach takes the session off its connection, as if the connection had closed for the session alone; left is how long
// the session stays alive from now on, at most the timeout, 0 for the whole timeout. The handle is over at once,
// without a last event; Detach returns when the host has answered, or the connection is lost, which detaches the
// session as well. If the context ends first, the detaching goes on in the background.
func (s *Session) Detach(ctx context.Context, left time.Duration) error {
	until := s.client.scope.Now().Add(left)
	return s.leave(ctx, errDetached, func() protocol.RequestMessage {
		m := &protocol.SessionDetach{SessionID: s.id}
		if left > 0 {
			m.LeftMillis = millisUp(max(until.Sub(s.client.scope.Now()), time.Millisecond))
		}
		return m
	})
}

// millisUp rounds up: a lease is never shorter than was said.
func millisUp(d time.Duration) uint64 { return millis(d + time.Millisecond - 1) }

// Stop ends the session, and with it the handle, without a last event. Stop returns when the host has answered, or the
// connection is lost: then the session ends by its timeout. If the context ends first, the stopping goes on in the
// background.
func (s *Session) Stop(ctx context.Context) error {
	return s.leave(ctx, &Ended{Reason: protocol.EndStopped}, func() protocol.RequestMessage {
		return &protocol.SessionStop{SessionID: s.id}
	})
}

// leave sends a request that ends the handle to the home host.
func (s *Session) leave(ctx context.Context, why error, ask func() protocol.RequestMessage) error {
	done := make(chan error, 1)
	if !s.client.scope.Go(func() { done <- s.leaveNow(why, ask) }) {
		return context.Cause(s.client.scope.Context())
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Session) leaveNow(why error, ask func() protocol.RequestMessage) error {
	ctx := s.client.scope.Context()
	at, err := s.client.takeTurn(ctx, s.id)
	if err != nil {
		return err
	}
	defer s.client.endTurn(s.id, at)
	s.mu.Lock()
	bound := s.bound
	s.mu.Unlock()
	if !s.end(why) {
		return nil // a newer attach has taken the seat, or the session has left by itself
	}
	if why == errDetached {
		for to := range bound {
			// Do not wait for the answers: the session's timeout runs at its home, and a leftover binding does no harm.
			_, _ = to.Send(conn.Unheard{}, &protocol.SessionDetach{SessionID: s.id})
		}
	}
	return untilAnswered(ctx, s.home, ask)
}

// untilAnswered sends a request over one connection until the host gives a final answer or the connection is lost.
func untilAnswered(ctx context.Context, to *conn.Conn, ask func() protocol.RequestMessage) error {
	var r retry.Retries
	for {
		err := to.RoundTrip(ctx, ask(), nil)
		switch status := failure.Refusal(err); {
		case err == nil:
			return nil
		case failure.IsTransport(err), status.Retry() == protocol.RetryNever, status == protocol.StatusMoved:
			return err
		}
		if err := r.Again(ctx, ctx, err); err != nil {
			return err
		}
	}
}

// undo ends or detaches a session that was started or attached for a caller that has gone.
func (s *Session) undo(started bool) {
	if started {
		s.Abandon()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // in the background
	_ = s.Detach(ctx, 0)
}

// Abandon ends a session that only the caller knows, in the background. If the handle is over before the host has
// ended the session, because the connection is lost or the shard has moved, the session is attached once more and
// ended there, for as long as the session can still exist.
func (s *Session) Abandon() { s.client.scope.Go(s.stopAnywhere) }

func (s *Session) stopAnywhere() {
	ctx, cancel := context.WithTimeout(s.client.scope.Context(), s.timeout)
	defer cancel()
	p := s.params
	p.OnEnd = nil
	for {
		err := s.Stop(ctx)
		left := failure.IsTransport(err) || failure.Refusal(err) == protocol.StatusMoved ||
			err == nil && !errors.Is(s.Err(), protocol.ErrSessionExpired)
		if !left {
			return
		}
		if s, err = s.client.Attach(ctx, s.id, p); err != nil {
			return
		}
	}
}
