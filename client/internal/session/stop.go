package session

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// Stop ends a session at its host after the session is over for its user. Stop returns when the context ends, when the
// session must have timed out because nothing renewed it, or when a host reports that the session is over. Stop cannot
// return earlier, because an unanswered attempt may have attached the session once more, over a connection kept alive
// by other sessions' pings.
func (in *Incarnation) Stop(ctx context.Context) error {
	if in.timeout > 0 {
		in.mu.Lock()
		left := in.base().Add(in.timeout + in.grace).Sub(in.group.scope.Now())
		in.mu.Unlock()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, max(left, 0), ErrGone)
		defer cancel()
	}
	in.mu.Lock()
	s := &stop{in: in, to: in.last}
	in.mu.Unlock()
	if s.needless() {
		return nil
	}
	for {
		s.retries.Leaders = in.group.cluster.Leaders()
		over, err := s.try(ctx)
		if over {
			return err
		}
		if err == nil {
			continue
		}
		if err := s.retries.Again(ctx, in.group.scope.Context(), err); err != nil {
			return err
		}
	}
}

// StopLater ends the session at its host in the background, however long that takes: at the host the session lives as
// long as the connection, because pings serve all sessions. The incarnation is over.
func (in *Incarnation) StopLater() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.group.stops.add(&stop{in: in, to: in.last, due: in.group.scope.Now()})
}

// stopAfterTimeout ends a session that expired on the client's clock. The host is asked once it may give the leases
// away anyway, so no other session waits through a grace period. The lock is held.
func (in *Incarnation) stopAfterTimeout() {
	in.group.stops.add(&stop{in: in, to: in.last, due: in.base().Add(in.timeout)})
}

// stop ends a session at its host, over several attempts if necessary.
type stop struct {
	in       *Incarnation
	to       *conn.Conn // to be tried first; nil: attach before
	tried    cluster.Tried
	retries  retry.Retries
	unknowns int
	due      lifecycle.Instant // no try earlier
}

// needless reports whether the session ends without a request because its connection is lost.
func (s *stop) needless() bool {
	return s.in.timeout == 0 && (s.to == nil || s.to.IsDown())
}

// try asks once to end the session. If over is set, the session has ended, or err is the reason why more attempts are
// useless. Otherwise err is the attempt's failure; nil means retry immediately.
func (s *stop) try(ctx context.Context) (over bool, err error) {
	in, to := s.in, s.to
	var h *cluster.Host
	if to == nil {
		to, h, err = in.attach(ctx, cluster.Leisure, s.tried)
	} else {
		h = cluster.HostOf(to)
	}
	if err == nil {
		err = to.RoundTrip(ctx, &protocol.SessionStop{SessionID: in.id}, nil)
	}
	s.to = nil
	s.tried.Add(h)
	switch {
	case err == nil, failure.Refusal(err) == protocol.StatusSessionExpired:
		return true, nil
	case to == nil || failure.Refusal(err) != protocol.StatusBadSession:
		if end := in.group.cluster.Redirect(ctx, &s.retries, err, to, h); end != nil {
			return true, end
		}
		return false, err
	}
	s.unknowns++
	return s.unknowns > 1, nil // another client has taken the session over
}

// tryOnce makes one time-limited attempt. again means that another attempt is needed. answered means that a host gave a
// real answer, not just that it cannot answer now.
func (s *stop) tryOnce(ctx context.Context) (again, answered bool) {
	if s.needless() {
		return false, true
	}
	g := s.in.group
	limited, cancel := context.WithTimeoutCause(ctx, max(s.in.tryTimeout(), g.dialTimeout), errSlow)
	defer cancel()
	over, err := s.try(limited)
	if errors.Is(err, errSlow) {
		over, err = false, slowly(err, s.tried.Latest())
	}
	switch {
	case over:
		return false, true
	case err == nil:
		return true, true
	}
	wait, final := s.retries.Delay(err)
	s.due = g.scope.Now().Add(wait)
	return !final, final || failure.Refusal(err).Retry() == protocol.RetryElsewhere
}
