package client

import (
	"context"
	"log/slog"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/core"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/client/internal/view"
)

// The cores are embedded so that the packages above client can get them through core.Of. The field names are not
// exported.
type (
	heldClient  = core.Holder[core.Client]
	heldSession = core.Holder[core.Session]
	heldNode    = core.Holder[core.Node]
)

// clientCore implements core.Client.
type clientCore struct{ client *Client }

func (c clientCore) Cluster() *cluster.Cluster { return c.client.cluster }
func (c clientCore) Watches() *view.Watches    { return c.client.watches }
func (c clientCore) Log() *slog.Logger         { return c.client.config.log }

// Do implements core.Client.
func (c clientCore) Do(ctx context.Context, operation, name string, f func(context.Context) error) error {
	ctx, op := c.client.begin(ctx, OperationKind(operation), "", name)
	err := f(ctx)
	op.end(err)
	return err
}

// sessionCore implements core.Session.
type sessionCore struct{ session *Session }

func (s sessionCore) Client() core.Client { return clientCore{s.session.client} }
func (s sessionCore) Node() core.Node     { return nodeCore{s.session.client.Node(s.session.path)} }

// Do implements core.Session.
func (s sessionCore) Do(
	ctx context.Context, operation, name string, f func(context.Context, *session.Incarnation) error,
) error {
	return s.session.do(ctx, OperationKind(operation), name, f)
}

// Incarnation implements core.Session.
func (s sessionCore) Incarnation(ctx context.Context) (*session.Incarnation, error) {
	return s.session.incarnation(ctx)
}

// nodeCore implements core.Node.
type nodeCore struct{ node *Node }

func (n nodeCore) Client() core.Client { return clientCore{n.node.client} }

// Do implements core.Node.
func (n nodeCore) Do(
	ctx context.Context, operation, name string, f func(ctx context.Context, node uint64) error,
) error {
	return n.node.do(ctx, OperationKind(operation), name, f)
}

// ID implements core.Node.
func (n nodeCore) ID(ctx context.Context) (uint64, error) {
	id, err := n.node.id(ctx, true)
	return id, failedNode("describe node", n.node.path, err)
}
