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

// Stop ends a session at its host, after the session is over for its user. Stop returns when the context ends, when
// the session has ended by its timeout unless something renewed the session, or when a host says that the session is
// over. Stop returns no earlier, because a try without an answer may have attached the session once more, over a
// connection that the pings of other sessions keep alive.
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

// StopLater ends the session at its host in the background, however long the ending takes: there the session lives for
// as long as the connection does, because the connection's pings are for all sessions. The incarnation is over.
func (in *Incarnation) StopLater() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.group.stops.add(&stop{in: in, to: in.last, due: in.group.scope.Now()})
}

// stopAfterTimeout ends a session that the client gave up by its own clock. The host is asked once it may give the
// leases away anyhow, so that no other session waits through a grace period. The lock is held.
func (in *Incarnation) stopAfterTimeout() {
	in.group.stops.add(&stop{in: in, to: in.last, due: in.base().Add(in.timeout)})
}

// stop is the ending of a session at its host, from try to try.
type stop struct {
	in       *Incarnation
	to       *conn.Conn // to be tried first; nil: attach before
	tried    cluster.Tried
	retries  retry.Retries
	unknowns int
	due      lifecycle.Instant // no try earlier
}

// needless reports whether the session ends without a request, because its connection is lost.
func (s *stop) needless() bool {
	return s.in.timeout == 0 && (s.to == nil || s.to.IsDown())
}

// try asks once for the end of the session. over says that the session has ended, or that further tries are useless:
// err says why. Otherwise err is the failure of the try; nil asks for another try at once.
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
		if end := in.group.cluster.Redirect(ctx, err, to, h); end != nil {
			return true, end
		}
		return false, err
	}
	s.unknowns++
	return s.unknowns > 1, nil // another client has taken the session
}

// tryOnce makes one try, of a bounded time. again says that a further try is needed, answered that a host has answered
// more than that the host cannot answer now.
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
