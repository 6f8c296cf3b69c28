package client

import (
	"cmp"
	"context"
	"sync"

	"github.com/signalbox/signalbox/client/internal/core"
	"github.com/signalbox/signalbox/client/internal/session"
)

// Session is a lease in a node: when the session ends, everything it owned becomes available to other sessions. A
// Session is safe for concurrent use. OnState reports state changes, and Context ends with the session.
type Session struct {
	heldSession
	client *Client
	path   string
	config sessionConfig
	ctx    context.Context // ends for good
	end    context.CancelCauseFunc

	mu      sync.Mutex           // guards the fields below; taken under an incarnation's lock
	current *session.Incarnation // nil while there is none
	ready   chan struct{}        // closed when current is set again
	closed  bool
	state   State
	err     error
	short   int             // consecutive incarnations that did not last
	changes []SessionChange // not yet reported to the callbacks
	busy    bool            // the callbacks are running
}

// Session starts a session in a node. The client keeps the session alive until the session is closed, or until no host
// could be asked for longer than the timeout.
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
	s.heldSession = core.Hold[core.Session](sessionCore{s})
	s.ctx, s.end = context.WithCancelCause(context.Background())
	c.mu.Lock()
	if err := c.scope.Usable(); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	c.sessions[s] = struct{}{}
	c.mu.Unlock()
	if err := s.start(ctx); err != nil {
		s.finish(err)
		return nil, err
	}
	return s, nil
}

// Path returns the path of the session's node.
func (s *Session) Path() string { return s.path }

// ID returns the session's id, 0 while the session is being renewed.
func (s *Session) ID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0
	}
	return s.current.ID()
}

// State returns the session state.
func (s *Session) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Err returns why the session is detached or over, or nil while it is attached.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Context returns a context that ends with the session, with the *SessionEnd as cause. With Recreate, the context ends
// only when the session is no longer recreated.
func (s *Session) Context() context.Context { return s.ctx }

// Close ends the session. As soon as Close is called, this client holds nothing in the session: the leases end, and
// waiting calls fail with ErrSessionClosed. When Close returns nil, the session is over at its home, and everything it
// owned in other shards becomes available a moment later; to admit the next owner at once, Release the lease first. An
// error means that no host has confirmed the end: the client keeps trying in the background, and the session ends by
// its timeout at the latest.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	in := s.current
	s.mu.Unlock()
	if in == nil || !in.End(session.Closed, "") {
		s.finish(ErrSessionClosed)
		return nil
	}
	ctx, op := s.client.begin(ctx, OpCloseSession, s.path, "")
	err := in.Stop(ctx)
	op.end(err)
	if err != nil {
		in.StopLater()
		return failed("close session", decimal(in.ID()), err)
	}
	return nil
}

// do carries out an operation on an object by the session's incarnation.
func (s *Session) do(
	ctx context.Context, kind OperationKind, name string,
	f func(ctx context.Context, in *session.Incarnation) error,
) error {
	ctx, op := s.client.begin(ctx, kind, s.path, name)
	err := checkName(name)
	var in *session.Incarnation
	if err == nil {
		in, err = s.incarnation(ctx)
	}
	if err == nil {
		err = f(ctx, in)
	}
	op.end(err)
	return err
}

// finish ends the session for good.
func (s *Session) finish(cause error) {
	s.end(cause)
	s.client.mu.Lock()
	delete(s.client.sessions, s)
	s.client.mu.Unlock()
}
