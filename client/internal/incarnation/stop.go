package incarnation

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/internal/scope"
	"github.com/signalbox/signalbox/protocol"
)

// Stop ends a session that is over for its user at its host. It ends with the context, when the session has ended by
// itself unless something renewed it, or when a host says that it is over: not earlier, because a try that is not
// answered may have attached the session once more, over a connection that the pings of others keep alive.
func (in *Incarnation) Stop(ctx context.Context) error {
	if in.timeout > 0 {
		in.mu.Lock()
		left := in.base().Add(in.timeout + in.grace).Sub(in.group.scope.Now())
		in.mu.Unlock()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, max(left, 0), errGone)
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

// StopLater has the session ended in the background, however long that takes: at its host it lives for as long as its
// connection does, whose pings are those of other sessions. The incarnation is over.
func (in *Incarnation) StopLater() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.group.stops.add(&stop{in: in, to: in.last, due: in.group.scope.Now()})
}

// stopAfterTimeout has a session ended that the client gave up by its own clock, once it may be given away anyhow, so
// that no other session waits for it through a grace period. The lock is held.
func (in *Incarnation) stopAfterTimeout() {
	in.group.stops.add(&stop{in: in, to: in.last, due: in.base().Add(in.timeout)})
}

// stop is the ending of a session at its host, from try to try.
type stop struct {
	in       *Incarnation
	to       *conn.Conn // to be tried first; nil: the session is attached elsewhere before
	tried    *cluster.Host
	retries  retry.Retries
	unknowns int
	due      scope.Instant // not earlier
}

// needless says that the session ends without a request, because its connection is lost.
func (s *stop) needless() bool {
	return s.in.timeout == 0 && (s.to == nil || s.to.IsDown())
}

// try asks once for the end of the session. It returns over where the session has ended, or where there is no use in
// trying again: err says why. Otherwise err is what the try failed with; nil asks for another one at once.
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
	s.to, s.tried = nil, h
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
	return s.unknowns > 1, nil // it is another client's
}

// tryOnce makes one try, of a bounded time. It returns whether another one is needed, and whether a host has answered
// this one with more than that it cannot at the moment.
func (s *stop) tryOnce(ctx context.Context) (again, answered bool) {
	if s.needless() {
		return false, true
	}
	g := s.in.group
	limited, cancel := context.WithTimeoutCause(ctx, max(s.in.tryTimeout(), g.dialTimeout), errSlow)
	defer cancel()
	over, err := s.try(limited)
	if errors.Is(err, errSlow) {
		over, err = false, slowly(err, s.tried)
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
