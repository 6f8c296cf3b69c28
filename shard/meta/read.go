package meta

import (
	"slices"
	"sort"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// Version returns how many commands have changed something so far. Two replicas at the same version have equal states.
func (m *Machine) Version() uint64 { return look(m, func(c *content) uint64 { return c.version }) }

// Node returns the node with the path. The path must have the form returned by ParsePath.
func (m *Machine) Node(path string) (Node, bool) {
	return value(look(m, func(c *content) *Node { return c.byPath.get(path) }))
}

// NodeByID returns the node with the id.
func (m *Machine) NodeByID(id shard.NodeID) (Node, bool) {
	return value(look(m, func(c *content) *Node { return c.byID.get(id) }))
}

// NodeCount returns the number of nodes.
func (m *Machine) NodeCount() int {
	return look(m, func(c *content) int { return len(c.byPath.entries) })
}

// Nodes returns the nodes whose paths begin with prefix and come after the path after, by path, at most limit and at
// most shard.MaxPage nodes, and whether there are more. The prefix must have the form returned by ParsePrefix. For the
// first list page after is empty, for every further page after is the previous page's last path.
//
// Pages do not show a single point in time. A node that exists throughout is on exactly one page.
func (m *Machine) Nodes(prefix, after string, limit int) (page []Node, more bool) {
	m.mu.RLock()
	from, found := m.byPath.search(max(prefix, after))
	if found && after >= prefix {
		from++
	}
	// The paths with the prefix are contiguous, and from is among them or right behind them.
	rest := m.byPath.entries[from:]
	count := sort.Search(len(rest), func(i int) bool { return !strings.HasPrefix(rest[i].Path, prefix) })
	entries, more := m.byPath.page(from, from+count, pageLimit(limit))
	m.mu.RUnlock()
	return values(entries), more
}

// Host returns a host, even an expelled host.
func (m *Machine) Host(id shard.HostID) (Host, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.host(id)
}

// Hosts returns all hosts by id, including expelled hosts.
func (m *Machine) Hosts() []Host { return look(m, (*content).hostList) }

// Routing returns the slot table.
func (m *Machine) Routing() Routing { return look(m, func(c *content) Routing { return c.routing }) }

// ShardsWithSlots returns the data shards that have slots, or that a slot moves to.
func (m *Machine) ShardsWithSlots() []ShardID {
	return look(m, func(c *content) []ShardID {
		return slices.DeleteFunc(slices.Clone(c.routing.Shards), func(id ShardID) bool {
			return c.topology != nil && !c.topology.records.Owns(id)
		})
	})
}

// look returns what at finds in the content, between two commands.
func look[T any](m *Machine, at func(*content) T) T {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return at(&m.content)
}

// pageLimit bounds how long a read holds the lock.
func pageLimit(limit int) int { return min(max(limit, 1), shard.MaxPage) }

// value returns the found value, and whether there is a value.
func value[V any](v *V) (V, bool) {
	if v == nil {
		var none V
		return none, false
	}
	return *v, true
}

func values[V any](list []*V) []V {
	if len(list) == 0 {
		return nil
	}
	out := make([]V, len(list))
	for i, v := range list {
		out[i] = *v
	}
	return out
}
