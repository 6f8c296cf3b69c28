// Package core gives packages above client, such as admin and rollout, access to Client, Session and Node internals:
// the cluster, watches, and operations that hooks observe.
package core

import (
	"context"
	"log/slog"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/client/internal/view"
)

// Client is the core of a *client.Client.
type Client interface {
	Cluster() *cluster.Cluster
	Watches() *view.Watches
	Log() *slog.Logger
	// Do runs an operation without a node and reports it to hooks. name is the operation's subject.
	Do(ctx context.Context, operation, name string, f func(context.Context) error) error
}

// Session is the core of a *client.Session.
type Session interface {
	Client() Client
	// Node is the session's node.
	Node() Node
	// Do runs an operation on an object and reports it to hooks. Do calls f with the session's incarnation, once there
	// is one.
	Do(ctx context.Context, operation, name string, f func(context.Context, *session.Incarnation) error) error
	// Incarnation returns the session's incarnation and waits for it if necessary.
	Incarnation(ctx context.Context) (*session.Incarnation, error)
}

// Node is the core of a *client.Node.
type Node interface {
	Client() Client
	// Do runs an operation on an object and reports it to hooks. Do calls f with the node id, and once more if the path
	// now belongs to a new node.
	Do(ctx context.Context, operation, name string, f func(ctx context.Context, node uint64) error) error
	// ID returns the current node id.
	ID(ctx context.Context) (uint64, error)
}

// Holder gives an embedding type the unexported method for Of. Only this package can call the method, and users never
// see it.
type Holder[T any] struct{ core T }

// Hold returns a Holder for a core.
func Hold[T any](core T) Holder[T] { return Holder[T]{core} }

func (h *Holder[T]) held() T { return h.core }

// Of returns the core of a *client.Client, *client.Session or *client.Node.
func Of[T any](holder interface{ held() T }) T { return holder.held() }
