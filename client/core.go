package client

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/door"
	"github.com/signalbox/signalbox/client/internal/incarnation"
)

func init() {
	door.OfClient = func(c any) door.Whole { return clientDoor{c.(*Client)} }
	door.OfSession = func(s any) door.Session { return sessionDoor{s.(*Session)} }
	door.OfNode = func(n any) door.Node { return nodeDoor{n.(*Node)} }
}

func (c *Client) door() door.Client {
	return door.Client{Cluster: c.cluster, Watches: c.watches, Log: c.config.log}
}

// clientDoor is a Client as packages see it whose operations are about no node: it implements door.Whole.
type clientDoor struct{ client *Client }

// Client implements door.Whole.
func (d clientDoor) Client() door.Client { return d.client.door() }

// Do implements door.Whole.
func (d clientDoor) Do(ctx context.Context, operation, name string, f func(context.Context) error) error {
	ctx, op := d.client.begin(ctx, OperationKind(operation), "", name)
	err := f(ctx)
	op.end(err)
	return err
}

// sessionDoor is a Session as packages of kinds of objects see the session: it implements door.Session.
type sessionDoor struct{ session *Session }

// Client implements door.Session.
func (d sessionDoor) Client() door.Client { return d.session.client.door() }

// Node implements door.Session.
func (d sessionDoor) Node() door.Node { return nodeDoor{d.session.client.Node(d.session.path)} }

// Do implements door.Session.
func (d sessionDoor) Do(
	ctx context.Context, operation, name string, f func(context.Context, *incarnation.Incarnation) error,
) error {
	return d.session.do(ctx, OperationKind(operation), name, f)
}

// Incarnation implements door.Session.
func (d sessionDoor) Incarnation(ctx context.Context) (*incarnation.Incarnation, error) {
	return d.session.incarnation(ctx)
}

// nodeDoor is a Node as packages of kinds of objects see the node: it implements door.Node.
type nodeDoor struct{ node *Node }

// Client implements door.Node.
func (d nodeDoor) Client() door.Client { return d.node.client.door() }

// Do implements door.Node.
func (d nodeDoor) Do(
	ctx context.Context, operation, name string, f func(ctx context.Context, node uint64) error,
) error {
	return d.node.do(ctx, OperationKind(operation), name, f)
}

// ID implements door.Node.
func (d nodeDoor) ID(ctx context.Context) (uint64, error) {
	id, err := d.node.id(ctx, true)
	return id, failedNode("describe node", d.node.path, err)
}
