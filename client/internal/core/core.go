// Package door is how the packages of kinds of objects, such as rollout, reach what package client has for objects of
// every kind and does not show to its users: requests of their own, numbered or not, and views.
package door

import (
	"context"
	"log/slog"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/incarnation"
	"github.com/signalbox/signalbox/client/internal/view"
)

// Client is what a *client.Client sends requests and watches with.
type Client struct {
	Cluster *cluster.Cluster
	Watches *view.Watches
	Log     *slog.Logger
}

// Whole is a *client.Client, for what is about no node.
type Whole interface {
	Client() Client
	// Do carries an operation out, which hooks see. The name is what it is about.
	Do(ctx context.Context, operation, name string, f func(context.Context) error) error
}

// Session is a *client.Session.
type Session interface {
	Client() Client
	// Node is that of the session.
	Node() Node
	// Do carries an operation on an object out, which hooks see: it calls f with the incarnation that the session has,
	// once it has one.
	Do(ctx context.Context, operation, name string, f func(context.Context, *incarnation.Incarnation) error) error
	// Incarnation returns the incarnation that the session has, or waits for it.
	Incarnation(ctx context.Context) (*incarnation.Incarnation, error)
}

// Node is a *client.Node.
type Node interface {
	Client() Client
	// Do carries an operation on an object out, which hooks see: it calls f with the node's id, and once more if the
	// node turns out to be another one by now.
	Do(ctx context.Context, operation, name string, f func(ctx context.Context, node uint64) error) error
	// ID returns the id that the node has now.
	ID(ctx context.Context) (uint64, error)
}

// OfClient, OfSession and OfNode open the door of a *client.Client, a *client.Session and a *client.Node. Package
// client sets them.
var (
	OfClient  func(client any) Whole
	OfSession func(session any) Session
	OfNode    func(node any) Node
)
