package raw

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/session"
)

// Params are the parameters for starting or attaching a session.
type Params struct {
	// node path; for Start only
	Path string
	// Timeout and Details belong to the session. An attach changes both if they differ, unless KeepSettings is set.
	Timeout      time.Duration
	Details      session.Details
	KeepSettings bool
	// Key protects the session. Sequence is the owner's attach count.
	Key      []byte
	Sequence uint64
	// AllocateSequences has an attach allocate sequences for the session's mutations: see Session.SequenceBase.
	AllocateSequences bool
	// OnHoldingLost, if set, is called when the session may have lost holdings without a notice, for example in a shard
	// that was rebuilt after losing its quorum. OnHoldingLost must not block.
	OnHoldingLost func()
	// OnEnd is called once, when nothing more comes for the handle that Start or Attach has returned, unless Detach or
	// Stop has ended the handle. OnEnd must not block. The error is an Ended if the session is over,
	// client.ErrBadSession if the session was attached elsewhere, and else client.ErrUnavailable: attach again.
	OnEnd func(err error)
}

// Session is a handle for one attach. A Session is safe for concurrent use.
type Session struct {
	client  *Client
	params  Params
	id      uint64
	node    uint64
	numbers uint64 // base of the allocated sequences
	timeout time.Duration
	stripe  int
	ctx     context.Context // ends with the handle
	cancel  context.CancelCauseFunc

	// The lease counts from sent, when the attaching request was sent. A ping counts if it was sent after since.
	sent, since lifecycle.Instant
	home        *conn.Conn // the session is attached over home

	mu       sync.Mutex        // guards the fields below; a connection's lock is taken under mu
	over     error             // why nothing more comes; nil before
	last     lifecycle.Instant // vouched when the handle ended
	bound    map[*conn.Conn]*binding
	requests map[*request]struct{} // requests that wait for messages
}

// Ended is the error for an ended session.
type Ended struct{ Reason protocol.EndReason }

// Error says why the session is over.
func (e *Ended) Error() string { return fmt.Sprintf("the session is over: %v", e.Reason) }

// Unwrap makes the error match client.ErrSessionExpired.
func (e *Ended) Unwrap() error { return protocol.ErrSessionExpired }

var (
	errReplaced = fmt.Errorf("the session was attached again: %w", protocol.ErrBadSession)
	errDetached = errors.New("the session was detached")
	errLost     = fmt.Errorf("the connection was lost: %w", protocol.ErrUnavailable)
	errNoDetach = &protocol.Error{Status: protocol.StatusUnsupported, Message: "the host cannot detach sessions"}
)

// Start starts a session at some host that leads a shard. If ctx ends first, the session is ended.
func (c *Client) Start(ctx context.Context, p Params) (s *Session, err error) {
	if err := c.scope.Usable(); err != nil {
		return nil, err
	}
	stripe := c.cluster.NextStripe()
	err = c.cluster.RepeatOver(ctx, stripe, c.cluster.SessionHome, func(to *conn.Conn) (err error) {
		s, err = c.open(ctx, to, stripe, 0, p, &protocol.SessionStart{
			Path: protocol.View(p.Path), TimeoutMillis: millis(p.Timeout), Details: p.Details,
			SessionSecret: p.Key, AttachSequence: p.Sequence,
		})
		return err
	})
	return s, err
}

// Attach attaches an existing session and sets the timeout and the details from p, unless KeepSettings is set. This
// ends any earlier handle for the session in this Client.
func (c *Client) Attach(ctx context.Context, id uint64, p Params) (s *Session, err error) {
	if err := c.scope.Usable(); err != nil {
		return nil, err
	}
	at, err := c.takeTurn(ctx, id)
	if err != nil {
		return nil, err
	}
	defer c.endTurn(id, at)
	stripe, home := c.cluster.NextStripe(), cluster.LeaderAt(protocol.SessionSlot(id))
	err = c.cluster.RepeatOver(ctx, stripe, home, func(to *conn.Conn) (err error) {
		s, err = c.open(ctx, to, stripe, id, p, &protocol.SessionAttach{
			SessionID: id, SessionSecret: p.Key, AttachSequence: p.Sequence, Change: !p.KeepSettings,
			TimeoutMillis: millis(p.Timeout),
			Details:       p.Details, Sequences: p.AllocateSequences,
		})
		return err
	})
	return s, err
}

func millis(d time.Duration) uint64 { return uint64(max(d, 0).Milliseconds()) }

// open attaches a session over a connection, or starts a session if the id is 0.
func (c *Client) open(
	ctx context.Context, to *conn.Conn, stripe int, id uint64, p Params, m protocol.RequestMessage,
) (*Session, error) {
	if !to.Knows(protocol.KindSessionDetach) {
		return nil, errNoDetach
	}
	o := &opening{
		session: &Session{client: c, params: p, id: id, home: to, stripe: stripe}, starts: id == 0,
		done: make(chan error, 1), sent: c.scope.Now(),
	}
	if _, err := to.Send(o, m); err != nil {
		return nil, err
	}
	select {
	case err := <-o.done:
		if err != nil {
			return nil, err
		}
		return o.session, nil
	case <-ctx.Done():
		o.abandon()
		return nil, context.Cause(ctx)
	}
}

// opening waits for the answer to a SESSION_START or a SESSION_ATTACH.
type opening struct {
	session *Session
	starts  bool
	sent    lifecycle.Instant
	done    chan error // holds one

	mu        sync.Mutex
	opened    bool
	abandoned bool // no caller waits for the answer
}

// Answered implements conn.Handler.
func (o *opening) Answered(from *conn.Conn, a *protocol.Answer) {
	if err := a.Result.Err(); err != nil {
		o.done <- err
		return
	}
	lease := &a.SessionAttach.Lease
	if o.starts {
		o.session.id, lease = a.SessionStart.SessionID, &a.SessionStart.Lease
	} else {
		o.session.numbers = a.SessionAttach.SequenceBase
	}
	if lease.Lost.Len() > 0 && !o.starts && o.session.params.OnHoldingLost != nil {
		o.session.params.OnHoldingLost()
	}
	o.session.attached(o.sent, lease)
	o.mu.Lock()
	o.opened = true
	abandoned := o.abandoned
	o.mu.Unlock()
	if abandoned {
		o.session.undo(o.starts)
	}
	o.done <- nil
}

// abandon ends or detaches the session as soon as it turns out to be attached.
func (o *opening) abandon() {
	o.mu.Lock()
	o.abandoned = true
	opened := o.opened
	o.mu.Unlock()
	if opened {
		o.session.undo(o.starts)
	}
}

// Lost implements conn.Handler.
func (o *opening) Lost(_ *conn.Conn, err error) { o.done <- err }
