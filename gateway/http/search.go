package http

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
)

// lookup is a name that programs look up: what many publish there, or read.
type lookup struct {
	Node      string
	Name      string
	What      string `about:"endpoints, or config"`
	Endpoints int    `about:"how many are there"`
	Data      []byte `about:"the config"`
	Revision  uint64
}

// searchRequest asks for names.
type searchRequest struct {
	Text  string `need:"true" about:"a part of the name, in small or capital letters"`
	Limit int    `about:"how many at the most: 100 where it is not given, 1000 at the most"`
}

// match is a name that a search has found.
type match struct {
	What string `about:"node, semaphore, rollout, process, session or host"`
	Node string
	Name string
	ID   uint64 `about:"of a session"`
}

const (
	defaultMatches = 100
	maxMatches     = 1000
)

// searchRoutes find things by name.
func searchRoutes() []route {
	const group = "Names"
	return []route{
		get("/lookups", group, "see", "Lists the names under which endpoints and config are, of a node or of all",
			func(ctx context.Context, c *call, q *objectsRequest) (list[*lookup], error) {
				options := []client.ListOption{client.Prefix(q.Prefix), client.WithData()}
				return overNodes(ctx, c, q, func(node string) iter.Seq2[*lookup, error] {
					return lookupsOf(c.caller.Node(node).Semaphores(ctx, options...), node)
				})
			}),
		get("/search", group, "see", "Finds nodes, objects, sessions and hosts by a part of their names", search),
	}
}

// lookupsOf picks the semaphores that have endpoints or config.
func lookupsOf(all iter.Seq2[*client.SemaphoreInfo, error], node string) iter.Seq2[*lookup, error] {
	return func(yield func(*lookup, error) bool) {
		for s, err := range all {
			var found *lookup
			switch {
			case err != nil:
			case s.Limit == client.All && !s.Ephemeral:
				found = &lookup{Node: node, Name: s.Name, What: "endpoints", Endpoints: s.OwnerCount,
					Revision: s.Revision}
			case len(s.Data) > 0:
				found = &lookup{Node: node, Name: s.Name, What: "config", Data: s.Data, Revision: s.Revision}
			default:
				continue
			}
			if !yield(found, err) || err != nil {
				return
			}
		}
	}
}

// search looks through all names that the caller may see.
func search(ctx context.Context, c *call, q *searchRequest) (list[match], error) {
	limit := q.Limit
	if limit <= 0 {
		limit = defaultMatches
	}
	wanted := strings.ToLower(q.Text)
	return collect(func(yield func(match, error) bool) {
		for m, err := range c.names(ctx) {
			if err == nil && !strings.Contains(strings.ToLower(m.Name), wanted) {
				continue
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}, min(limit, maxMatches))
}

// names are all that a search goes through. What a node has that is dropped meanwhile is left out.
func (c *call) names(ctx context.Context) iter.Seq2[match, error] {
	return func(yield func(match, error) bool) {
		hosts, err := c.caller.Status(ctx)
		for i := range hosts {
			if !yield(match{What: "host", Name: hosts[i].Name}, nil) {
				return
			}
		}
		if err != nil {
			yield(match{}, err)
			return
		}
		for node, err := range c.caller.ListNodes(ctx, "") {
			if err != nil {
				yield(match{}, err)
				return
			}
			if !yield(match{What: "node", Node: node.Path, Name: node.Path}, nil) || !c.namesIn(ctx, node.Path, yield) {
				return
			}
		}
	}
}

// namesIn yields the names in a node, and reports whether to go on.
func (c *call) namesIn(ctx context.Context, node string, yield func(match, error) bool) bool {
	objects := []iter.Seq2[match, error]{
		inNode(c.caller.Node(node).Semaphores(ctx), func(s *client.SemaphoreInfo) match {
			return match{What: "semaphore", Node: node, Name: s.Name}
		}),
		inNode(rollout.List(ctx, c.caller.Client, node), func(s *rollout.Summary) match {
			return match{What: "rollout", Node: node, Name: s.Name}
		}),
		inNode(process.List(ctx, c.caller.Client, node), func(s *process.Summary) match {
			return match{What: "process", Node: node, Name: s.Name}
		}),
		inNode(c.caller.Node(node).Sessions(ctx), func(s *client.SessionInfo) match {
			words := strings.TrimSpace(s.Description + " " + s.Client.Name + " " + s.Client.Address)
			return match{What: "session", Node: node, Name: words, ID: s.ID}
		}),
	}
	for _, all := range objects {
		for m, err := range all {
			if errors.Is(err, client.ErrNodeNotFound) {
				break
			}
			if !yield(m, err) || err != nil {
				return false
			}
		}
	}
	return true
}
