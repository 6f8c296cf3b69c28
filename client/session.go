package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Session is a lease in a node: what it owns is given to others when it ends. It is safe for use by many
// goroutines. Its states are told to OnState, and its end by Context.
type Session struct {
	client *Client
	path   string
	config sessionConfig
	ctx    context.Context // ends for good
	end    context.CancelCauseFunc

	mu     sync.Mutex    // guards what follows; taken under that of a life
	life   *life         // nil while there is none
	ready  chan struct{} // closed when there is a life again
	closed bool
	state  State
	err    error
	short  int             // lives in a row that did not last
	news   []SessionChange // that have not been reported to the callbacks
	busy   bool            // the callbacks are running
}

// Session starts a session in a node. It is kept alive until it is closed, or until no host could be asked
// for longer than its timeout.
func (c *Client) Session(ctx context.Context, path string, options ...SessionOption) (*Session, error) {
	ctx, op := c.begin(ctx, OpStartSession, path, "")
	s, err := c.session(ctx, path, options)
	op.end(err)
	if err != nil {
		return nil, failedNode("start a session in", path, err)
	}
	return s, nil
}

func (c *Client) session(ctx context.Context, path string, options []SessionOption) (*Session, error) {
	config, err := newSessionConfig(options)
	if err = cmp.Or(checkPath(path), err); err != nil {
		return nil, err
	}
	s := &Session{client: c, path: path, config: config, ready: make(chan struct{})}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	c.mu.Lock()
	if c.closing.Load() {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	c.sessions[s] = struct{}{}
	c.mu.Unlock()
	x, err := c.startLife(ctx, s)
	if err == nil {
		err = s.begin(x)
	}
	if err != nil {
		s.finish(err)
		return nil, err
	}
	return s, nil
}

// begin makes a life the session's.
func (s *Session) begin(x *life) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		s.client.spawn(func() {
			x.over(EndClosed, "")
			x.stopLater()
		})
		return ErrSessionClosed
	case x.cause != nil:
		return x.cause
	}
	s.life = x
	close(s.ready)
	if x.home != nil {
		s.tellLocked(Attached, nil)
		return nil
	}
	s.tellLocked(Detached, errGone)
	if x.timeout > 0 {
		x.arm()
	}
	x.comeBack()
	return nil
}

// Path returns the path of the session's node.
func (s *Session) Path() string { return s.path }

// ID returns the session's id, 0 while it has none because it is being renewed.
func (s *Session) ID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return 0
	}
	return s.life.id
}

// State returns the state of the session.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Err returns why the session is detached or over, nil while it is attached.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Context returns a context that ends with the session, with the *SessionEnd as its cause. That of a session
// with Renew ends only when it is not renewed any more.
func (s *Session) Context() context.Context { return s.ctx }

// Close ends the session. From the call on this client holds nothing by it: its leases end, and what waits
// fails with ErrSessionClosed. When Close returns nil the session is over at its home, and what it owned in
// other shards is given to others a moment later; Release a lease first where the next owner is to have it at
// once. The error says that no host has confirmed it: the client goes on trying in the background, and the
// session ends by its timeout at the latest.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	x := s.life
	s.mu.Unlock()
	if x == nil {
		s.finish(ErrSessionClosed)
		return nil
	}
	x.mu.Lock()
	over := x.cause != nil
	x.overLocked(EndClosed, "")
	x.mu.Unlock()
	if over {
		s.finish(ErrSessionClosed)
		return nil
	}
	ctx, op := s.client.begin(ctx, OpCloseSession, s.path, "")
	err := x.part(ctx)
	op.end(err)
	if err != nil {
		x.stopLater()
		return fmt.Errorf("client: close session %d: %w", x.id, err)
	}
	return nil
}

// current returns the life that the session has, or waits for it.
func (s *Session) current(ctx context.Context) (*life, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		s.mu.Lock()
		x, ready := s.life, s.ready
		s.mu.Unlock()
		if x != nil {
			return x, nil
		}
		select {
		case <-ready:
		case <-ctx.Done():
		case <-s.ctx.Done():
			return nil, context.Cause(s.ctx)
		}
	}
}

// ended is told that a life is over. The life's lock is held.
func (s *Session) ended(x *life) {
	s.mu.Lock()
	if s.life != x {
		s.mu.Unlock()
		return
	}
	state := Expired
	if x.cause.Reason == EndClosed {
		state = Closed
	}
	s.tellLocked(state, x.cause)
	again := s.config.renew && !s.closed && x.cause.Reason != EndNodeDropped && x.cause.Reason != EndClosed
	if again {
		s.life, s.ready = nil, make(chan struct{})
		if s.short++; s.client.clock.now().sub(x.born) > maxPause {
			s.short = 0
		}
		wait := time.Duration(0)
		if s.short > shortLives {
			wait = pause(s.short, 0)
		}
		again = s.client.spawn(func() { s.renew(wait) })
	}
	s.mu.Unlock()
	if !again {
		s.finish(x.cause)
	}
}

// renew starts another life, after a pause.
func (s *Session) renew(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
		return
	case <-s.client.ctx.Done():
		s.finish(ErrClosed)
		return
	}
	for {
		x, err := s.client.startLife(s.ctx, s)
		if err == nil {
			err = s.begin(x)
		}
		if err == nil {
			return
		}
		var end *SessionEnd
		if errors.As(err, &end) && end.Reason != EndNodeDropped {
			continue // the new one was over before it began
		}
		s.mu.Lock()
		if !s.closed {
			s.tellLocked(Expired, err)
		}
		s.mu.Unlock()
		s.finish(err)
		return
	}
}

// finish ends the session for good.
func (s *Session) finish(cause error) {
	s.end(cause)
	s.client.mu.Lock()
	delete(s.client.sessions, s)
	s.client.mu.Unlock()
}
