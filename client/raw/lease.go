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

// ID returns the id of the session.
func (s *Session) ID() uint64 { return s.id }

// NodeID returns the id of the session's node.
func (s *Session) NodeID() uint64 { return s.node }

// Timeout returns the timeout that the session has at its host.
func (s *Session) Timeout() time.Duration { return s.timeout }

// SequenceBase returns the base of the sequences that the attach has allocated, if Params asked for sequences. The
// protocol.SequencesPerAttach sequences above the base belong to this handle alone. They are above the sequences of all
// earlier handles of the session, in every gateway. The base is 0 for a session that was started: a new session has
// used no sequence yet.
func (s *Session) SequenceBase() uint64 { return s.numbers }

// LeaseLeft returns for how long the session can be relied on from this moment: the timeout, less a tenth for clocks
// that differ, from the sending of the latest request whose answer vouched for the session.
func (s *Session) LeaseLeft() time.Duration {
	return s.vouched().Add(s.timeout - s.timeout/10).Sub(s.client.scope.Now())
}

// vouched is the moment from which the lease counts.
func (s *Session) vouched() lifecycle.Instant {
	if v := s.home.LastVouched(); v > s.since {
		return v
	}
	return s.sent
}

// attached puts the handle to use, on the goroutine that reads the connection: pushes of the host about the session
// come behind the answer that attached is called for.
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

// HoldingLost implements conn.Session. A gateway's clients learn of a deletion by force by describing the semaphore.
func (s *Session) HoldingLost(p *protocol.HoldingLost) {
	if len(p.Name) == 0 && s.params.OnHoldingLost != nil {
		s.params.OnHoldingLost()
	}
}

// Inbox implements conn.Session: a handle opens no inbox.
func (s *Session) Inbox(*conn.Conn, *protocol.Inbox) {}

// Resumed implements conn.Session: LeaseLeft says what is left after the machine was suspended.
func (s *Session) Resumed() {}

// ConnectionLost implements conn.Session. Requests that wait over a connection to another host than the home are lost
// with the connection too, so the handle is over after the loss of any connection.
func (s *Session) ConnectionLost(_ *conn.Conn, err error) { s.finish(err) }

// finish ends the handle, once: requests fail, and the owner gets the last event.
func (s *Session) finish(why error) {
	if s.end(why) && s.params.OnEnd != nil {
		s.params.OnEnd(why)
	}
}

// end is finish without the last event. It returns false if the handle was over before.
func (s *Session) end(why error) bool {
	s.mu.Lock()
	if s.over != nil {
		s.mu.Unlock()
		return false
	}
	s.over = why
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

// Err returns nil while the handle is attached as far as is known, and the error of the last event afterwards.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// refusal converts a host's refusal of a session's request into the error that the handle ends with, nil if the handle
// goes on.
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
