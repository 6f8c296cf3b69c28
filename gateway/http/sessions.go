package http

import (
	"context"
	"iter"

	"github.com/signalbox/signalbox/client"
)

type sessionRequest struct {
	ID uint64 `need:"true" about:"the id of the session"`
}

// heldSession is a session with what it owns and waits for.
type heldSession struct {
	client.SessionInfo
	Holdings     []*client.Holding
	MoreHoldings bool `about:"it has more than are listed"`
}

// nodeSession is a session with the path of its node.
type nodeSession struct {
	Node string
	*client.SessionInfo
}

type sessionsRequest struct {
	Node  string `about:"only those of this node"`
	Limit int    `about:"how many at the most: 1000 where it is not given, 10000 at the most"`
}

// sessionRoutes are about the sessions of all clients.
func sessionRoutes() []route {
	const group = "Sessions"
	return []route{
		get("/sessions", group, "see", "Lists the sessions of a node, or of all",
			func(ctx context.Context, c *call, q *sessionsRequest) (list[nodeSession], error) {
				within := objectsRequest{Node: q.Node, paged: paged{Limit: q.Limit}}
				return overNodes(ctx, c, &within, func(node string) iter.Seq2[nodeSession, error] {
					found := c.caller.Node(node).Sessions(ctx)
					return inNode(found, func(s *client.SessionInfo) nodeSession { return nodeSession{node, s} })
				})
			}),
		get("/session", group, "see", "Describes a session, with what it owns and waits for",
			func(ctx context.Context, c *call, q *sessionRequest) (*heldSession, error) {
				info, err := c.caller.DescribeSession(ctx, q.ID)
				if err != nil {
					return nil, err
				}
				held, err := collect(c.caller.Holdings(ctx, q.ID), defaultPage)
				return &heldSession{*info, held.Items, held.More}, err
			}),
		post("/session/destroy", group, "operate", "Ends a session of any client: what it owns is free",
			func(ctx context.Context, c *call, q *sessionRequest) (done, error) {
				return done{true}, c.caller.DestroySession(ctx, q.ID)
			}),
	}
}
