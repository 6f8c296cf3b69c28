package client

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/internal/session"
)

// start starts an incarnation and makes it the session's current one.
func (s *Session) start(ctx context.Context) error {
	in, err := s.client.incarnations.Start(ctx, (*owner)(s), session.Params{
		Path: s.path, Details: s.config.details, Timeout: s.config.timeout,
	})
	if err != nil {
		return err
	}
	return in.Begin(func(ended error, attached bool) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.closed:
			s.client.scope.Go(func() {
				in.End(session.Closed, "")
				in.StopLater()
			})
			return ErrSessionClosed
		case ended != nil:
			return ended
		}
		s.current = in
		close(s.ready)
		if attached {
			s.setState(Attached, nil)
		} else {
			s.setState(Detached, session.ErrGone)
		}
		return nil
	})
}

// incarnation returns the session's incarnation and waits for it if necessary.
func (s *Session) incarnation(ctx context.Context) (*session.Incarnation, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		s.mu.Lock()
		in, ready := s.current, s.ready
		s.mu.Unlock()
		if in != nil {
			return in, nil
		}
		select {
		case <-ready:
		case <-ctx.Done():
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		}
	}
}

// renew starts another incarnation after a pause.
func (s *Session) renew(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
		return
	case <-s.client.scope.Context().Done():
		s.finish(ErrClosed)
		return
	}
	for {
		err := s.start(s.ctx)
		if err == nil {
			return
		}
		if end, ok := errors.AsType[*SessionEnd](err); ok && end.Reason != EndNodeDropped {
			continue // the new incarnation was over before it started
		}
		s.mu.Lock()
		if !s.closed {
			s.setState(Expired, err)
		}
		s.mu.Unlock()
		s.finish(err)
		return
	}
}

// owner is a Session as seen by its incarnations: it implements session.Owner.
type owner Session

// Attached changes the state.
func (o *owner) Attached(in *session.Incarnation) { (*Session)(o).stateOf(in, Attached, nil) }

// Detached changes the state.
func (o *owner) Detached(in *session.Incarnation, why error) {
	(*Session)(o).stateOf(in, Detached, why)
}

// AttachFailed notes why the session cannot be attached.
func (o *owner) AttachFailed(in *session.Incarnation, why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.current == in && o.state == Detached {
		o.err = why
	}
}

// EndError returns an incarnation's *SessionEnd.
func (o *owner) EndError(id uint64, reason session.Reason, detail string) error {
	return &SessionEnd{SessionID: id, Reason: EndReason(reason), Detail: detail}
}

// Ended starts the next incarnation for a session with Recreate, and finishes other sessions.
func (o *owner) Ended(in *session.Incarnation, reason session.Reason, cause error) {
	s := (*Session)(o)
	s.mu.Lock()
	if s.current != in {
		s.mu.Unlock()
		return
	}
	state := Expired
	if reason == session.Closed {
		state = Closed
	}
	s.setState(state, cause)
	renews := s.config.renew && !s.closed && reason != session.NodeDropped && reason != session.Closed
	if renews {
		s.current, s.ready = nil, make(chan struct{})
		if s.short++; in.Age() > retry.Requests.Most {
			s.short = 0
		}
		wait := time.Duration(0)
		if s.short > shortLived {
			wait = retry.Requests.Pause(s.short)
		}
		renews = s.client.scope.Go(func() { s.renew(wait) })
	}
	s.mu.Unlock()
	if !renews {
		s.finish(cause)
	}
}

// NewLease returns an incarnation's lease and the user's *Lease around it.
func (o *owner) NewLease() (*session.Lease, any) {
	l := &Lease{session: (*Session)(o)}
	return &l.lease, l
}

// LimitMismatch logs that an acquire has found a limit other than the named limit, and reports it to the hooks.
func (o *owner) LimitMismatch(name string, asked, limit uint64) {
	found := LimitMismatch{Node: o.path, Name: name, Asked: asked, Limit: limit}
	c := o.client
	if !c.limitMismatches.first(found) {
		return
	}
	c.config.log.Warn("the semaphore has a limit other than the requested limit",
		"node", o.path, "semaphore", name, "asked", limitText(asked), "limit", limitText(limit))
	if c.config.hooks != nil {
		c.config.hooks.LimitMismatch(found)
	}
}

// stateOf changes the state, if the incarnation is the session's.
func (s *Session) stateOf(in *session.Incarnation, state State, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == in {
		s.setState(state, why)
	}
}

// setState changes the state and reports the change to the callbacks in another goroutine. The session's lock is held.
func (s *Session) setState(state State, why error) {
	s.state, s.err = state, why
	if s.config.onState == nil && s.client.config.hooks == nil {
		return
	}
	c := SessionChange{Node: s.path, State: state, Err: why}
	if s.current != nil {
		c.SessionID = s.current.ID()
	}
	s.changes = append(s.changes, c)
	if !s.busy {
		s.busy = true
		go s.report()
	}
}

// report calls the callbacks with all unreported changes, and ends. No goroutine waits for report, so callbacks may do
// anything, for example close the session.
func (s *Session) report() {
	for {
		s.mu.Lock()
		if len(s.changes) == 0 {
			s.busy = false
			s.mu.Unlock()
			return
		}
		c := s.changes[0]
		s.changes = s.changes[1:]
		s.mu.Unlock()
		if hooks := s.client.config.hooks; hooks != nil {
			hooks.SessionChanged(c)
		}
		if s.config.onState != nil {
			s.config.onState(c.State)
		}
	}
}
