package raw

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/protocol"
)

// ID returns the session id.
func (s *Session) ID() uint64 { return s.id }

// NodeID returns the id of the session's node.
func (s *Session) NodeID() uint64 { return s.node }

// Timeout returns the session timeout at the host.
func (s *Session) Timeout() time.Duration { return s.timeout }

// SequenceBase returns the base of the sequences allocated by the attach, if Params requested sequences. The
// protocol.SequencesPerAttach sequences above the base belong to this handle alone, and are above all sequences from
// earlier handles for the session in every gateway. The base is 0 for a started session, because a new session has used
// no sequence yet.
func (s *Session) SequenceBase() uint64 { return s.numbers }

// LeaseLeft returns how long the session is still safe to use: the timeout minus a tenth for clock drift, counted from
// when the latest request that renewed the session was sent.
func (s *Session) LeaseLeft() time.Duration {
	return s.vouched().Add(s.timeout - s.timeout/10).Sub(s.client.scope.Now())
}

// vouched returns the time from which the lease counts. Later pings over the connection do not renew a session whose
// handle is over: the host may have detached the session.
func (s *Session) vouched() lifecycle.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vouchedLocked()
}

func (s *Session) vouchedLocked() lifecycle.Instant {
	if s.over != nil {
		return s.last
	}
	if v := s.home.LastVouched(); v > s.since {
		return v
	}
	return s.sent
}

// attached activates the handle, in the goroutine that reads the connection, because the host's pushes about the
// session follow the answer being processed.
func (s *Session) attached(sent lifecycle.Instant, l *protocol.Lease) {
	c := s.client
	s.node, s.timeout, s.sent, s.since = l.NodeID, conn.Millis(l.TimeoutMillis), sent, c.scope.Now()
	s.ctx, s.cancel = context.WithCancelCause(c.scope.Context())
	before := c.sit(s)
	if before != nil {
		before.finish(errReplaced)
	}
	if !s.home.AddSession(s.id, s) {
		s.finish(errLost)
		return
	}
	if s.timeout > 0 {
		s.home.AddTimeout(s.timeout)
	}
	if c.options.PingEvery > 0 {
		s.home.PingEvery(c.options.PingEvery)
	}
}

// Detached implements conn.Session.
func (s *Session) Detached(from *conn.Conn, result *protocol.Result) {
	if result.Status == protocol.StatusMoved {
		s.client.cluster.Moved(&result.Moved, from)
	}
	switch {
	case from != s.home:
		s.unbind(from)
	case result.Status == protocol.StatusBadSession:
		s.finish(result.Err())
	case result.Status == protocol.StatusHeartbeatTimeout:
		s.finish(&Ended{Reason: protocol.EndExpired})
	default:
		s.finish(fmt.Errorf("%w: %w", protocol.ErrUnavailable, result.Err()))
	}
}

// Ended implements conn.Session.
func (s *Session) Ended(reason protocol.EndReason) { s.finish(&Ended{Reason: reason}) }

// HoldingLost implements conn.Session. A gateway's clients detect a forced deletion by describing the semaphore.
func (s *Session) HoldingLost(p *protocol.HoldingLost) {
	if len(p.Name) == 0 && s.params.OnHoldingLost != nil {
		s.params.OnHoldingLost()
	}
}

// Inbox implements conn.Session: a handle opens no inbox.
func (s *Session) Inbox(*conn.Conn, *protocol.Inbox) {}

// Resumed implements conn.Session: LeaseLeft already accounts for suspended time.
func (s *Session) Resumed() {}

// ConnectionLost implements conn.Session. Losing any connection ends the handle, because requests waiting over a
// connection other than the home are lost with it.
func (s *Session) ConnectionLost(_ *conn.Conn, err error) { s.finish(err) }

// finish ends the handle, once: requests fail, and the owner gets the last event.
func (s *Session) finish(why error) {
	if s.end(why) && s.params.OnEnd != nil {
		s.params.OnEnd(why)
	}
}

// end is finish without calling OnEnd. It returns false if the handle was already over.
func (s *Session) end(why error) bool {
	s.mu.Lock()
	if s.over != nil {
		s.mu.Unlock()
		return false
	}
	s.last, s.over = s.vouchedLocked(), why
	requests, bound := s.requests, s.bound
	s.requests, s.bound = nil, nil
	s.mu.Unlock()
	s.cancel(why)
	s.client.rise(s)
	s.home.RemoveSession(s.id, s)
	if s.timeout > 0 {
		s.home.RemoveTimeout(s.timeout)
	}
	for to := range bound {
		to.RemoveSession(s.id, s)
	}
	for r := range requests {
		r.fail(why)
	}
	return true
}

// Err returns nil while the handle is attached as far as is known, and the reason for its end afterwards.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// refusal converts a host's rejection into the error that ends the handle, or nil if the handle continues.
func (s *Session) refusal(err error, from *conn.Conn) error {
	switch failure.Refusal(err) {
	case protocol.StatusSessionExpired:
		return &Ended{}
	case protocol.StatusBadSession:
		if from == s.home {
			return fmt.Errorf("%w: %w", protocol.ErrUnavailable, err)
		}
	}
	return nil
}
