// Package core gives packages above client, such as admin and rollout, access to the internals of Client, Session and
// Node: the cluster, watches, and operations that hooks observe.
package core

import (
	"context"
	"log/slog"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/client/internal/view"
)

// Client is what a *client.Client has.
type Client interface {
	Cluster() *cluster.Cluster
	Watches() *view.Watches
	Log() *slog.Logger
	// Do carries out an operation that belongs to no node, which hooks see. The name is the operation's subject.
	Do(ctx context.Context, operation, name string, f func(context.Context) error) error
}

// Session is what a *client.Session has.
type Session interface {
	Client() Client
	// Node is the session's node.
	Node() Node
	// Do carries out an operation on an object, which hooks see: it calls f with the session's incarnation, once the
	// session has one.
	Do(ctx context.Context, operation, name string, f func(context.Context, *session.Incarnation) error) error
	// Incarnation returns the session's incarnation, after waiting while the session has none.
	Incarnation(ctx context.Context) (*session.Incarnation, error)
}

// Node is what a *client.Node has.
type Node interface {
	Client() Client
	// Do carries out an operation on an object, which hooks see: it calls f with the node's id, and once more if the
	// path has another node by now.
	Do(ctx context.Context, operation, name string, f func(ctx context.Context, node uint64) error) error
	// ID returns the id that the node has now.
	ID(ctx context.Context) (uint64, error)
}

// Holder gives a type that embeds it the method that Of calls. The method is not exported, so that only this package
// can call it, and a user of the type sees nothing of it.
type Holder[T any] struct{ core T }

// Hold returns a Holder of a core.
func Hold[T any](core T) Holder[T] { return Holder[T]{core} }

func (h *Holder[T]) held() T { return h.core }

// Of returns the core of a *client.Client, a *client.Session or a *client.Node.
func Of[T any](holder interface{ held() T }) T { return holder.held() }
