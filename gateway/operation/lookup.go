package operation

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/client/election"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol"
)

// endpoints are the entries under a name.
type endpoints struct {
	Revision   uint64
	Endpoints  []discovery.Endpoint
	Unreadable int `about:"Number of owners without a valid endpoint"`
	Paging
}

// endpointsRequest asks for a page of endpoints.
type endpointsRequest struct {
	Named
	Page
}

// listEndpoints returns a page with the endpoints under a name, or for a command all endpoints.
func listEndpoints(ctx context.Context, c *client.Client, q *endpointsRequest) (e endpoints, err error) {
	if q.whole(ctx) {
		e.Endpoints, err = discovery.List(ctx, c, q.Node, q.Name)
		return e, err
	}
	after, err := q.behindOrder()
	if err != nil {
		return e, err
	}
	p := fill(ctx, q.Size())
	for one, err := range discovery.Each(ctx, c, q.Node, q.Name, after) {
		if err != nil {
			return e, err
		}
		if fits, err := e.add(p, one); !fits {
			return e, err
		}
	}
	return e, nil
}

// add adds an endpoint to the page, and ends the page if the endpoint does not fit.
func (e *endpoints) add(p *page, one discovery.Endpoint) (fits bool, err error) {
	if fits, err = p.add(&one); fits {
		e.Endpoints = append(e.Endpoints, one)
	} else if err == nil {
		e.end(e.Endpoints[len(e.Endpoints)-1].OrderID)
	}
	return fits, err
}

// endpointsOf shows a watched set, or ErrLong if the set is longer than a page.
func endpointsOf(q *endpointsRequest, set *discovery.Set) (revision uint64, answer any, err error) {
	e := endpoints{Revision: set.Revision, Unreadable: set.Unreadable}
	p := &page{room: endless{}, most: q.Size()}
	for _, one := range set.Endpoints {
		if fits, err := e.add(p, one); !fits {
			return 0, nil, cmp.Or(err, ErrLong)
		}
	}
	return set.Revision, e, nil
}

// ConfigValue is a config entry.
type ConfigValue struct {
	Exists   bool
	Revision uint64
	Value    []byte
}

// putRequest replaces or creates a config entry.
type putRequest struct {
	Named
	Value []byte
	// IfRevision is a pointer, since 0 means that the entry must not exist.
	IfRevision *uint64 `about:"Write only if the entry has this revision. 0: only if it does not exist"`
}

// Leadership reports whether there is a leader, and names the leader. A leader's fencing token is above every earlier
// leader's.
type Leadership struct {
	Leads bool
	election.Leader
}

// lookups are the operations on endpoints, config and elections.
func lookups() []Operation {
	return group("Discovery, config, elections",
		overNodes("/discovery", protocol.KindSemaphoreList,
			"Lists service names with published endpoints in one node, or in all nodes",
			func(ctx context.Context, c *client.Client, q *objectsRequest, node, after string,
			) iter.Seq2[*discoveryName, error] {
				return Changed(lookedUp(ctx, c, lookupEndpoints, q, node, after),
					func(s *client.SemaphoreInfo) *discoveryName {
						return &discoveryName{Name: s.Name, Endpoints: s.OwnerCount, Revision: s.Revision}
					})
			},
			func(n *discoveryName) string { return n.Name }),
		followPage(read("/endpoints", protocol.KindSemaphoreDescribe,
			"Lists a service's endpoints", listEndpoints,
			Face{
				Use: "discover list PATH NAME", Short: "List endpoints",
				Long: `Lists endpoints by registration time. The read is linearizable. An unused list is empty.`,
				Example: `  signalbox discover list /prod api

  # only the addresses
  signalbox discover list /prod api -o json | jq -r .address`,
				Table: tableOf(func(e endpoints) []discovery.Endpoint { return e.Endpoints },
					func(e discovery.Endpoint) []any {
						return []any{e.Address, MetadataText(e.Metadata), e.OrderID, e.SessionID}
					}, "ADDRESS", "METADATA", "+ORDER#", "+SESSION#"),
			}),
			func(ctx context.Context, c *client.Client, q *endpointsRequest) iter.Seq2[*discovery.Set, error] {
				return discovery.Watch(ctx, c, q.Node, q.Name)
			},
			endpointsOf),
		overNodes("/configs", protocol.KindSemaphoreList, "Lists config entries in one node, or in all nodes",
			func(ctx context.Context, c *client.Client, q *objectsRequest, node, after string,
			) iter.Seq2[*configEntry, error] {
				return Changed(lookedUp(ctx, c, lookupConfig, q, node, after),
					func(s *client.SemaphoreInfo) *configEntry {
						return &configEntry{Name: s.Name, Revision: s.Revision, Value: s.Data}
					})
			},
			func(e *configEntry) string { return e.Name },
			Face{
				Use: "config list [PATH] [--prefix]", Short: "List the config entries in a node, or in all nodes",
				Long: `Lists the config entries in a node, or, without PATH, in all nodes that you may see. An
entry without a value is not listed, because it looks like a lock: signalbox semaphore
list shows it.`,
				Example: `  signalbox config list /prod/jobs

  # the names alone
  signalbox config list /prod/jobs -o json | jq -r .name`,
				Table: table(func(p apijson.InNode[*configEntry]) []any {
					return []any{p.Node, p.Item.Name, p.Item.Revision, p.Item.Value}
				}, "+NODE", "NAME", "REVISION#", "VALUE"),
			}),
		follow(read("/config", protocol.KindSemaphoreDescribe, "Returns a config entry with its revision",
			func(ctx context.Context, c *client.Client, q *Named) (ConfigValue, error) {
				value, revision, err := config.Get(ctx, c, q.Node, q.Name)
				return ConfigValue{Exists: err == nil, Revision: revision, Value: value}, err
			}),
			func(ctx context.Context, c *client.Client, q *Named) iter.Seq2[config.Value, error] {
				return config.Watch(ctx, c, q.Node, q.Name)
			},
			func(v config.Value) (uint64, any) { return v.Revision, ConfigValue{v.Exists, v.Revision, v.Data} }),
		apply("/config/put", protocol.KindSemaphoreUpdate, "Creates or replaces a config entry",
			func(ctx context.Context, c *client.Client, q *putRequest) error {
				var options []config.PutOption
				if q.IfRevision != nil {
					options = append(options, config.IfRevision(*q.IfRevision))
				}
				return config.Put(ctx, c, q.Node, q.Name, q.Value, options...)
			}),
		follow(read("/election/leader", protocol.KindSemaphoreDescribe, "Returns the current leader",
			func(ctx context.Context, c *client.Client, q *Named) (Leadership, error) {
				l, leads, err := election.Current(ctx, c, q.Node, q.Name)
				return Leadership{leads, l}, err
			}),
			func(ctx context.Context, c *client.Client, q *Named) iter.Seq2[election.Leader, error] {
				return endingLong(election.Observe(ctx, c, q.Node, q.Name, election.Alone()))
			},
			func(l election.Leader) (uint64, any) { return 0, Leadership{l.Fence > 0, l} }),
	)
}

// endingLong ends a loop over an election with ErrLong if several sessions own the semaphore: it is then not an
// election, and a watch would hold all owners in memory.
func endingLong(loop iter.Seq2[election.Leader, error]) iter.Seq2[election.Leader, error] {
	return func(yield func(election.Leader, error) bool) {
		for l, err := range loop {
			if errors.Is(err, election.ErrShared) {
				err = ErrLong
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// MetadataText is metadata in a table.
func MetadataText(metadata map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		parts = append(parts, key+"="+metadata[key])
	}
	return strings.Join(parts, " ")
}

// discoveryName is a name under which endpoints are published.
type discoveryName struct {
	Name      string `omit:"never"`
	Endpoints int    `about:"Number of endpoints"`
	Revision  uint64 `omit:"never"`
}

// configEntry is a config entry in a list.
type configEntry struct {
	Name     string `omit:"never"`
	Revision uint64 `omit:"never"`
	Value    []byte
}

// searchRequest asks for names.
type searchRequest struct {
	Query string `need:"true" about:"Part of the name; case is ignored"`
	Limit int    `about:"Maximum matches, up to 1000. Default: 100"`
}

// match is a name found by a search.
type match struct {
	Kind string `omit:"never" about:"Kind: node, semaphore, endpoints, config, rollout, process, session or host"`
	Node string
	Name string
	ID   *uint64 `about:"Session id"`
}

const (
	defaultMatches = 100
	maxMatches     = 1000
)

// names are the operations that find objects by name.
func names() []Operation {
	return group("Names",
		read("/search", protocol.KindNodeList,
			"Searches nodes, objects, sessions and hosts by a part of the name", search),
	)
}

// Kinds of objects that programs look up by name.
const (
	lookupEndpoints = "endpoints"
	lookupConfig    = "config"
)

// lookupKind returns whether a semaphore has endpoints or config, nothing for a lock. Config is recognised only if the
// semaphore was listed with data.
func lookupKind(s *client.SemaphoreInfo) string {
	switch {
	case s.Limit == client.All && !s.Ephemeral:
		return lookupEndpoints
	case s.Limit == 1 && len(s.Data) > 0:
		return lookupConfig
	}
	return ""
}

// lookedUp lists a node's semaphores with endpoints or config, after a name.
func lookedUp(
	ctx context.Context, c *client.Client, kind string, q *objectsRequest, node, after string,
) iter.Seq2[*client.SemaphoreInfo, error] {
	options := append(given(kind == lookupConfig, client.WithData()), client.Prefix(q.Prefix), client.After(after))
	return kept(c.Node(node).Semaphores(ctx, options...),
		func(s *client.SemaphoreInfo) bool { return lookupKind(s) == kind })
}

// search searches all names that the caller may see.
func search(ctx context.Context, c *client.Client, q *searchRequest) (List[match], error) {
	wanted := strings.ToLower(q.Query)
	return collect(ctx, kept(allNames(ctx, c), func(m match) bool {
		return strings.Contains(strings.ToLower(m.Name), wanted)
	}), bounded(q.Limit, defaultMatches, maxMatches), nil)
}

// allNames returns all names to search. Objects in a node that is dropped meanwhile are skipped.
func allNames(ctx context.Context, c *client.Client) iter.Seq2[match, error] {
	return func(yield func(match, error) bool) {
		hosts, err := c.Status(ctx)
		for i := range hosts {
			if !yield(match{Kind: "host", Name: hosts[i].Name}, nil) {
				return
			}
		}
		if err != nil {
			yield(match{}, err)
			return
		}
		for node, err := range c.ListNodes(ctx, "") {
			if err != nil {
				yield(match{}, err)
				return
			}
			m := match{Kind: "node", Node: node.Path, Name: node.Path}
			if !yield(m, nil) || !namesIn(ctx, c, node.Path, yield) {
				return
			}
		}
	}
}

// namesIn yields the names in a node, and reports whether to go on.
func namesIn(ctx context.Context, c *client.Client, node string, yield func(match, error) bool) bool {
	objects := []iter.Seq2[match, error]{
		Changed(c.Node(node).Semaphores(ctx, client.WithData()), func(s *client.SemaphoreInfo) match {
			return match{Kind: cmp.Or(lookupKind(s), "semaphore"), Node: node, Name: s.Name}
		}),
		Changed(rollout.List(ctx, c, node), func(s *rollout.Summary) match {
			return match{Kind: "rollout", Node: node, Name: s.Name}
		}),
		Changed(process.List(ctx, c, node), func(s *process.Summary) match {
			return match{Kind: "process", Node: node, Name: s.Name}
		}),
		Changed(c.Node(node).Sessions(ctx), func(s *client.SessionInfo) match {
			words := strings.TrimSpace(s.Description + " " + s.Client.Name + " " + s.Client.Address)
			return match{Kind: "session", Node: node, Name: words, ID: &s.ID}
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
