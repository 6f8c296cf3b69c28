package http

import (
	"context"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/client/election"
)

// endpoints are who is there under a name.
type endpoints struct {
	Revision   uint64
	Endpoints  []discovery.Endpoint
	Unreadable int `about:"how many owners have published something that is no endpoint"`
}

// piece is a piece of config.
type piece struct {
	Exists   bool
	Revision uint64
	Value    []byte
}

type putRequest struct {
	named
	Value []byte
	// IfRevision is a pointer, since 0 stands for none at all.
	IfRevision *uint64 `about:"only if it has this revision; 0: only if there is none"`
}

// leadership is who leads.
type leadership struct {
	Leads     bool
	Fence     uint64 `about:"larger than that of every leader before"`
	SessionID uint64
	Data      []byte
}

// lookupRoutes are about discovery, config and elections.
func lookupRoutes() []route {
	const group = "Discovery, config, elections"
	return []route{
		followed(get("/endpoints", group, "see", "Lists the endpoints that are published under a name",
			func(ctx context.Context, c *call, q *named) (endpoints, error) {
				found, err := discovery.List(ctx, c.caller.Client, q.Node, q.Name)
				return endpoints{Endpoints: found}, err
			}), followEndpoints),
		followed(get("/config", group, "see", "Returns a piece of config with its revision",
			func(ctx context.Context, c *call, q *named) (piece, error) {
				value, revision, err := config.Get(ctx, c.caller.Client, q.Node, q.Name)
				return piece{Exists: err == nil, Revision: revision, Value: value}, err
			}), followConfig),
		post("/config/put", group, "write", "Replaces a piece of config, or makes one", putConfig),
		followed(get("/leader", group, "see", "Shows who leads in an election",
			func(ctx context.Context, c *call, q *named) (leadership, error) {
				l, leads, err := election.Current(ctx, c.caller.Client, q.Node, q.Name)
				return leadership{leads, l.Fence, l.SessionID, l.Data}, err
			}), followLeader),
	}
}

func putConfig(ctx context.Context, c *call, q *putRequest) (done, error) {
	var options []config.PutOption
	if q.IfRevision != nil {
		options = append(options, config.IfRevision(*q.IfRevision))
	}
	return done{true}, config.Put(ctx, c.caller.Client, q.Node, q.Name, q.Value, options...)
}

func followEndpoints(ctx context.Context, c *call, q *named, publish publisher) error {
	for set, err := range discovery.Watch(ctx, c.caller.Client, q.Node, q.Name) {
		if err != nil {
			return err
		}
		publish(set.Revision, endpoints{set.Revision, set.Endpoints, set.Unreadable})
	}
	return ctx.Err()
}

func followConfig(ctx context.Context, c *call, q *named, publish publisher) error {
	for v, err := range config.Watch(ctx, c.caller.Client, q.Node, q.Name) {
		if err != nil {
			return err
		}
		publish(v.Revision, piece{v.Exists, v.Revision, v.Data})
	}
	return ctx.Err()
}

func followLeader(ctx context.Context, c *call, q *named, publish publisher) error {
	for l, err := range election.Observe(ctx, c.caller.Client, q.Node, q.Name) {
		if err != nil {
			return err
		}
		publish(0, leadership{l.Fence > 0, l.Fence, l.SessionID, l.Data})
	}
	return ctx.Err()
}

// strictly is the option of a read that may miss nothing.
func strictly(strict bool) client.Consistency {
	if strict {
		return client.Strict
	}
	return 0
}
