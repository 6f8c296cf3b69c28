package http

import (
	"context"

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

type allSessionsRequest struct {
	Node string `about:"only those of this node"`
	paged
}

// sessionRoutes are about the sessions of all clients.
func sessionRoutes() []route {
	const group = "Sessions"
	return []route{
		get("/sessions", group, "see", "Lists the sessions of a node, or of all", listSessions),
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

func listSessions(ctx context.Context, c *call, q *allSessionsRequest) (l list[*nodeSession], err error) {
	limit := min(max(q.Limit, 0), maxPage)
	if limit == 0 {
		limit = defaultPage
	}
	if q.Node != "" {
		return sessionsOf(ctx, c, l, q.Node, limit)
	}
	for node, err := range c.caller.ListNodes(ctx, q.Prefix) {
		if err != nil || l.More {
			return l, err
		}
		if l, err = sessionsOf(ctx, c, l, node.Path, limit); err != nil {
			return l, err
		}
	}
	return l, nil
}

// sessionsOf adds the sessions of a node to a list.
func sessionsOf(
	ctx context.Context, c *call, l list[*nodeSession], path string, limit int,
) (list[*nodeSession], error) {
	for s, err := range c.caller.Node(path).Sessions(ctx) {
		if err != nil {
			return l, err
		}
		if len(l.Items) == limit {
			l.More = true
			break
		}
		l.Items = append(l.Items, &nodeSession{path, s})
	}
	return l, nil
}
