package client

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// Hooks see what a client does, for metrics and tracing. The client calls them on the goroutines that do the work,
// except for SessionChanged, so hooks must be quick, and must not call the client. Many goroutines call hooks at once.
//
// A type that embeds NoHooks inherits the methods that the type does not define, and the methods of later versions.
type Hooks interface {
	// OperationStarted is called when an operation begins. The context that the method returns, the given context or a
	// context made from it, is the context of the operation.
	OperationStarted(ctx context.Context, op Operation) context.Context
	// OperationEnded is called once for each OperationStarted, with the context that OperationStarted returned.
	OperationEnded(ctx context.Context, op Operation, end OperationEnd)
	// ConnectionChanged is called when a connection is made, lost, or could not be made.
	ConnectionChanged(c ConnectionChange)
	// SessionChanged is called when the state of a session has changed: in order for each session, on a goroutine of
	// its own, like OnState.
	SessionChanged(s SessionChange)
	// LimitMismatch is called when an acquire finds a limit that differs from the limit that the caller has named: once
	// for every difference, not at every acquire.
	LimitMismatch(o LimitMismatch)
	// TokenExpiring is called, for every connection, five minutes before the host closes the connection because the
	// token expires.
	TokenExpiring(t TokenExpiry)
}

// WithHooks lets hooks see what the client does. Without hooks nothing is measured.
func WithHooks(h Hooks) Option {
	return func(c *config) { c.hooks = h }
}

// OperationKind is the kind of an operation.
type OperationKind string

// The kinds of operations. Watches and lists are no operations: they take as long as the loops of the caller.
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

// Operation is one call of a user, with all tries of the call.
type Operation struct {
	Kind OperationKind
	// Node is the path of the node, Name the name of the semaphore; a field is empty if the operation is about no
	// node, or about no semaphore.
	Node string
	Name string
}

// OperationEnd is the outcome of an operation.
type OperationEnd struct {
	// Status is a word from a short list, fit for a label: the status of the host's answer as the protocol names it,
	// for example SUCCESS or UNAVAILABLE, or NOT_ACQUIRED, CANCELED, DEADLINE_EXCEEDED, SESSION_CLOSED, CLIENT_CLOSED,
	// FAILED.
	Status string
	// Err is the error that the call returns, nil for a success and for an acquire that got nothing.
	Err      error
	Duration time.Duration
	// Retries is how often the client has tried again.
	Retries int
}

// ConnectionState is the state that a connection has reached.
type ConnectionState string

// The states of connections. The report of a connection's loss may come before the report of its making.
const (
	ConnectionUp     ConnectionState = "up"
	ConnectionDown   ConnectionState = "down"
	ConnectionFailed ConnectionState = "failed" // the connection was not made
)

// ConnectionChange is the new state of a connection to a host.
type ConnectionChange struct {
	State ConnectionState
	// HostID is 0 for a host that the client has never met.
	HostID  uint64
	Address string
	// Err is why the connection is not up.
	Err error
}

// SessionChange is a new state of a session.
type SessionChange struct {
	Node string
	// SessionID is the id of the session that attached, or ended; with Recreate every new session has a new id.
	SessionID uint64
	State     State
	// Err is why the session is not attached.
	Err error
}

// TokenExpiry is a token with which hosts let the client in for a short time only. The client asks the source of
// WithTokenSource for another token on the next connect: if the source has a new token by then, sessions and watches
// go on.
type TokenExpiry struct {
	HostID  uint64
	Address string
	// Token is the name of the token.
	Token string
	Left  time.Duration
}

// NoHooks does nothing. Types that implement only some of the hooks embed NoHooks.
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

// operation is an Operation that hooks see. The pointer is nil in a client without hooks.
type operation struct {
	Operation
	hooks   Hooks
	ctx     context.Context
	began   time.Time
	retries int // changed by the goroutine of the operation
}

// begin reports to the hooks that an operation begins; the caller ends it.
func (c *Client) begin(ctx context.Context, kind OperationKind, node, name string) (context.Context, *operation) {
	if c.config.hooks == nil {
		return ctx, nil
	}
	o := &operation{Operation: Operation{kind, node, name}, hooks: c.config.hooks, began: time.Now()}
	o.ctx = o.hooks.OperationStarted(ctx, o.Operation)
	return retry.WithCounter(o.ctx, &o.retries), o
}

// end reports the outcome of the operation to the hooks.
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

// statusWord is the status of an error in a word.
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

// tokenExpiring logs that a token is about to expire, and reports the expiry to the hooks. No lock is held.
func (c *config) tokenExpiring(hostID uint64, address, token string, left time.Duration) {
	c.log.Warn("the token expires soon, and the host will close the connection", "host", hostID, "address", address,
		"token", token, "left", left)
	if c.hooks != nil {
		c.hooks.TokenExpiring(TokenExpiry{hostID, address, token, left})
	}
}

// connectionChanged logs the new state of a connection, and reports the change to the hooks. No lock is held.
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
