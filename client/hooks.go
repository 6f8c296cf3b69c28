package client

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// Hooks observe a client for metrics and tracing. The client calls all methods except SessionChanged in the goroutines
// that do the work, so hooks must be quick and must not call the client. Hooks are called concurrently.
//
// Embed NoHooks to implement only some methods and to stay compatible with later versions.
type Hooks interface {
	// OperationStarted is called when an operation starts. The returned context, which is ctx or derived from it,
	// becomes the operation's context.
	OperationStarted(ctx context.Context, op Operation) context.Context
	// OperationEnded is called once for each OperationStarted, with the context that OperationStarted returned.
	OperationEnded(ctx context.Context, op Operation, end OperationEnd)
	// ConnectionChanged is called when a connection is made, lost, or could not be made.
	ConnectionChanged(c ConnectionChange)
	// SessionChanged is called after a session's state has changed: in order per session and in its own goroutine, like
	// OnState.
	SessionChanged(s SessionChange)
	// LimitMismatch is called when an acquire finds a limit that differs from the caller's limit: once per difference,
	// not for every acquire.
	LimitMismatch(o LimitMismatch)
	// TokenExpiring is called, for every connection, five minutes before the host closes the connection because the
	// token expires.
	TokenExpiring(t TokenExpiry)
}

// WithHooks sets hooks that observe the client. Without hooks nothing is measured.
func WithHooks(h Hooks) Option {
	return func(c *config) { c.hooks = h }
}

// OperationKind is the kind of an operation.
type OperationKind string

// Operation kinds. Watches and lists are not operations, because they last as long as the caller's loop.
const (
	OpAcquire         OperationKind = "acquire" // waits in the queue too
	OpTryAcquire      OperationKind = "try_acquire"
	OpChange          OperationKind = "change"
	OpRelease         OperationKind = "release"
	OpCreate          OperationKind = "create"
	OpUpdate          OperationKind = "update"
	OpResize          OperationKind = "resize"
	OpDelete          OperationKind = "delete"
	OpDescribe        OperationKind = "describe"
	OpCreateNode      OperationKind = "create_node"
	OpDescribeNode    OperationKind = "describe_node"
	OpAlterNode       OperationKind = "alter_node"
	OpDropNode        OperationKind = "drop_node"
	OpStartSession    OperationKind = "start_session"
	OpCloseSession    OperationKind = "close_session"
	OpDescribeSession OperationKind = "describe_session"
	OpDestroySession  OperationKind = "destroy_session"
	OpPing            OperationKind = "ping"
)

// Operation is one user call, including all retries.
type Operation struct {
	Kind OperationKind
	// Node is the node path and Name the semaphore name; a field is empty if it does not apply.
	Node string
	Name string
}

// OperationEnd is an operation's outcome.
type OperationEnd struct {
	// Status is a word from a short list, fit for a label: the status of the host's answer as the protocol names it,
	// for example SUCCESS or UNAVAILABLE, or NOT_ACQUIRED, CANCELED, DEADLINE_EXCEEDED, SESSION_CLOSED, CLIENT_CLOSED,
	// FAILED.
	Status string
	// Err is the error that the call returns. It is nil for a success and for an acquire that got nothing.
	Err      error
	Duration time.Duration
	// Retries is how often the client has tried again.
	Retries int
}

// ConnectionState is a state that a connection has reached.
type ConnectionState string

// Connection states. The report that a connection was lost may come before the report that it was established.
const (
	ConnectionUp     ConnectionState = "up"
	ConnectionDown   ConnectionState = "down"
	ConnectionFailed ConnectionState = "failed" // the connection was not made
)

// ConnectionChange is the new state of a host connection.
type ConnectionChange struct {
	State ConnectionState
	// HostID is 0 if the client has never reached the host.
	HostID  uint64
	Address string
	// Err is why the connection is not up.
	Err error
}

// SessionChange is a session's new state.
type SessionChange struct {
	Node string
	// SessionID is the session that attached or ended. With Recreate, every new session has a new id.
	SessionID uint64
	State     State
	// Err is why the session is not attached.
	Err error
}

// TokenExpiry reports a token that is about to expire. The client asks the WithTokenSource source for another token on
// the next connect. If the source has a new token by then, sessions and watches continue.
type TokenExpiry struct {
	HostID  uint64
	Address string
	// Token is the token's name.
	Token string
	Left  time.Duration
}

// NoHooks does nothing. Embed it in types that implement only some hooks.
type NoHooks struct{}

// OperationStarted implements Hooks.
func (NoHooks) OperationStarted(ctx context.Context, _ Operation) context.Context { return ctx }

// OperationEnded implements Hooks.
func (NoHooks) OperationEnded(context.Context, Operation, OperationEnd) {}

// ConnectionChanged implements Hooks.
func (NoHooks) ConnectionChanged(ConnectionChange) {}

// SessionChanged implements Hooks.
func (NoHooks) SessionChanged(SessionChange) {}

// LimitMismatch implements Hooks.
func (NoHooks) LimitMismatch(LimitMismatch) {}

// TokenExpiring implements Hooks.
func (NoHooks) TokenExpiring(TokenExpiry) {}

// operation is an Operation reported to hooks. The pointer is nil in a client without hooks.
type operation struct {
	Operation
	hooks   Hooks
	ctx     context.Context
	began   time.Time
	retries int // only changed by the operation's goroutine
}

// begin reports a new operation to the hooks; the caller ends it.
func (c *Client) begin(ctx context.Context, kind OperationKind, node, name string) (context.Context, *operation) {
	if c.config.hooks == nil {
		return ctx, nil
	}
	o := &operation{Operation: Operation{kind, node, name}, hooks: c.config.hooks, began: time.Now()}
	o.ctx = o.hooks.OperationStarted(ctx, o.Operation)
	return retry.WithCounter(o.ctx, &o.retries), o
}

// end reports the operation's outcome to the hooks.
func (o *operation) end(err error) {
	if o != nil {
		o.endAs(statusWord(err), err)
	}
}

// endAcquire is end for an acquire. An acquire may get nothing without an error; the status is NOT_ACQUIRED then.
func (o *operation) endAcquire(ok bool, err error) {
	switch {
	case o == nil:
	case err == nil && !ok || errors.Is(err, ErrNotAcquired):
		o.endAs("NOT_ACQUIRED", nil)
	default:
		o.endAs(statusWord(err), err)
	}
}

func (o *operation) endAs(status string, err error) {
	o.hooks.OperationEnded(o.ctx, o.Operation, OperationEnd{
		Status: status, Err: err, Duration: time.Since(o.began), Retries: o.retries,
	})
}

// statusWord returns an error's status as one word.
func statusWord(err error) string {
	var e *protocol.Error
	switch {
	case err == nil:
		return protocol.StatusSuccess.String()
	case errors.Is(err, context.Canceled):
		return "CANCELED"
	case errors.Is(err, context.DeadlineExceeded):
		return "DEADLINE_EXCEEDED"
	case errors.Is(err, ErrSessionClosed):
		return "SESSION_CLOSED"
	case errors.Is(err, ErrSessionExpired):
		return protocol.StatusSessionExpired.String()
	case errors.Is(err, ErrClosed):
		return "CLIENT_CLOSED"
	case errors.As(err, &e):
		return e.Status.String()
	case errors.Is(err, ErrUnavailable):
		return protocol.StatusUnavailable.String()
	}
	return "FAILED"
}

// tokenExpiring logs that a token is about to expire and reports the expiry to the hooks. No lock is held.
func (c *config) tokenExpiring(hostID uint64, address, token string, left time.Duration) {
	c.log.Warn("the token expires soon, and the host will close the connection", "host", hostID, "address", address,
		"token", token, "left", left)
	if c.hooks != nil {
		c.hooks.TokenExpiring(TokenExpiry{hostID, address, token, left})
	}
}

// connectionChanged logs a connection's new state and reports it to the hooks. No lock is held.
func (c *config) connectionChanged(state cluster.State, hostID uint64, address string, why error) {
	log := c.log.With("host", hostID, "address", address)
	switch state {
	case cluster.Up:
		log.Debug("connected")
	case cluster.Down:
		log.Debug("connection lost", "error", why)
	case cluster.Failed:
		log.Debug("no connection to a host", "error", why)
	}
	if c.hooks != nil {
		c.hooks.ConnectionChanged(ConnectionChange{ConnectionState(state), hostID, address, why})
	}
}
