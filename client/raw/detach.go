package raw

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// Detach takes the session off its connection, as if the connection had closed for it alone; left is how long it stays
// alive then, at most its timeout, 0 for all of that. The handle is over at once, without a last event; Detach returns
// when the host has answered, or the connection is lost, which detaches the session as well. Where the context ends
// first it goes on in the background.
func (s *Session) Detach(ctx context.Context, left time.Duration) error {
	return s.leave(ctx, errDetached, func(to *conn.Conn) protocol.RequestMessage {
		m := &protocol.SessionDetach{SessionID: s.id}
		if left > 0 && to == s.home {
			m.LeftMillis = max(millis(left), 1)
		}
		return m
	})
}

// Stop ends the session, and with it the handle, without a last event. It returns when the host has answered, or the
// connection is lost: then the session ends by its timeout. Where the context ends first it goes on in the background.
func (s *Session) Stop(ctx context.Context) error {
	return s.leave(ctx, &Ended{Reason: protocol.EndStopped}, func(to *conn.Conn) protocol.RequestMessage {
		if to != s.home {
			return nil // the end of the session reaches it
		}
		return &protocol.SessionStop{SessionID: s.id}
	})
}

// leave sends requests over the connections that the session acts over, which end that.
func (s *Session) leave(ctx context.Context, why error, ask func(to *conn.Conn) protocol.RequestMessage) error {
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

func (s *Session) leaveNow(why error, ask func(to *conn.Conn) protocol.RequestMessage) error {
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
		return nil // a newer attach has taken its place, or the session has left by itself
	}
	for to := range bound {
		if m := ask(to); m != nil {
			_ = untilAnswered(ctx, to, m) // a binding that is left does no harm
		}
	}
	return untilAnswered(ctx, s.home, ask(s.home))
}

// untilAnswered sends a request over one connection until the host has answered it for good, or the connection is lost.
func untilAnswered(ctx context.Context, to *conn.Conn, m protocol.RequestMessage) error {
	var r retry.Retries
	for {
		err := to.RoundTrip(ctx, m, nil)
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

// undo leaves nothing of a session that was started, or attached, for a caller that has gone.
func (s *Session) undo(started bool) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // in the background
	if started {
		_ = s.Stop(ctx)
	} else {
		_ = s.Detach(ctx, 0)
	}
}
