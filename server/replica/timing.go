package replica

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// timing contains the local host's bounds while grace and self-check periods change. Two hosts may know different
// configs for a node. So session ends use the longest grace period in effect on any host, and barriers are trusted
// only for the shortest grace period of all nodes. The meta shard's machine keeps both bounds until a change has
// reached all hosts (its Timing).
//
// Bounds widen as soon as a change is applied. They narrow on the host's loop, and only while no goroutine restores a
// session: a session's grace period must not shrink between the reading of its time and the call.
type timing struct {
	// restoring is read-locked while sessions are restored outside the loop. restoring is taken before mu and the
	// table locks.
	restoring sync.RWMutex

	mu       sync.RWMutex // guards the fields below; taken within a table's lock
	nodes    map[shard.NodeID]bounds
	narrower map[shard.NodeID]bounds // bounds the loop must adopt
	gone     map[shard.NodeID]bounds // dropped nodes, until no shard has remains of them
	changes  map[shard.NodeID]struct{}
	shortest bounds // shortest grace period and shortest self-check period of all nodes
}

// bounds are the durations in a meta.Timing.
type bounds struct{ floor, ceiling, selfCheck time.Duration }

func boundsOf(t meta.Timing) bounds {
	return bounds{
		floor: millis(t.GraceFloorMillis), ceiling: millis(t.GraceCeilingMillis),
		selfCheck: millis(t.SelfCheckCeilingMillis),
	}
}

// over returns bounds as wide as both.
func (b bounds) over(o bounds) bounds {
	return bounds{floor: max(b.floor, o.floor), ceiling: min(b.ceiling, o.ceiling),
		selfCheck: min(b.selfCheck, o.selfCheck)}
}

// defaultBounds apply if there is no node.
var defaultBounds = bounds{
	floor:     meta.DefaultSessionGracePeriodMillis * time.Millisecond,
	ceiling:   meta.DefaultSessionGracePeriodMillis * time.Millisecond,
	selfCheck: meta.DefaultSelfCheckPeriodMillis * time.Millisecond,
}

func newTiming() *timing {
	return &timing{
		nodes: make(map[shard.NodeID]bounds), narrower: make(map[shard.NodeID]bounds),
		gone: make(map[shard.NodeID]bounds), changes: make(map[shard.NodeID]struct{}),
		shortest: defaultBounds,
	}
}

// changed records a node's current state.
func (t *timing) changed(n meta.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := boundsOf(n.Timing)
	wide := now
	if before, known := t.nodes[n.ID]; known {
		wide = before.over(now)
	}
	t.nodes[n.ID] = wide
	t.shortest = t.shortest.over(wide)
	if wide == now {
		delete(t.narrower, n.ID)
	} else {
		t.narrower[n.ID] = now
	}
	if n.Confirmed() {
		delete(t.changes, n.ID)
	} else {
		t.changes[n.ID] = struct{}{}
	}
}

// reload records all nodes after the meta shard replica was replaced, and forgets nodes the replica lacks.
func (t *timing) reload(m *meta.Machine) {
	there := make(map[shard.NodeID]struct{})
	for after, more := "", true; more; {
		var page []meta.Node
		page, more = m.Nodes("", after, shard.MaxPage)
		for _, n := range page {
			t.changed(n)
			there[n.ID] = struct{}{}
			after = n.Path
		}
	}
	for _, id := range t.known() {
		if _, is := there[id]; !is {
			t.forget(id)
		}
	}
}

// known returns the nodes known to the host.
func (t *timing) known() []shard.NodeID {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.nodes))
}

// forget removes a dropped node. A remote host may not know about the drop yet, and may end the node's sessions after
// its grace period. So barriers respect the node until no shard has remains of it.
func (t *timing) forget(id shard.NodeID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b, known := t.nodes[id]; known {
		t.gone[id] = b
	}
	delete(t.nodes, id)
	delete(t.narrower, id)
	delete(t.changes, id)
}

// narrow adopts bounds that have become narrower. narrow is called on the host's loop.
func (t *timing) narrow(m *meta.Machine) {
	t.restoring.Lock()
	defer t.restoring.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	narrower := len(t.narrower) > 0
	maps.Copy(t.nodes, t.narrower)
	clear(t.narrower)
	for id := range t.gone {
		if page, _ := m.Dropping(id-1, 1); len(page) == 0 || page[0].ID != id {
			delete(t.gone, id)
			narrower = true
		}
	}
	if !narrower {
		return
	}
	t.shortest = defaultBounds
	for _, all := range []map[shard.NodeID]bounds{t.nodes, t.gone} {
		for _, b := range all {
			t.shortest = t.shortest.over(b)
		}
	}
}

// changing returns the nodes whose timing is not confirmed, as far as the host knows.
func (t *timing) changing() []shard.NodeID {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.changes))
}

// grace returns how long the node's sessions may stay silent in addition to their timeout when a leader changes.
func (t *timing) grace(id shard.NodeID) time.Duration {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if b, ok := t.nodes[id]; ok {
		return b.floor
	}
	return meta.MaxSessionGracePeriodMillis * time.Millisecond
}

// LongestGrace returns the longest grace period in effect among all nodes, in milliseconds.
func (s *Set) LongestGrace() uint64 {
	t := s.timing
	t.mu.RLock()
	defer t.mu.RUnlock()
	longest := time.Duration(0)
	for _, b := range t.nodes {
		longest = max(longest, b.floor)
	}
	if longest == 0 {
		longest = defaultBounds.floor
	}
	return uint64(longest.Milliseconds())
}

// window returns how long a barrier proves that a replica is up to date. period is the interval at which a leader
// makes barriers.
func (t *timing) window() (window, period time.Duration) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.shortest.ceiling, t.shortest.selfCheck
}

// Adopt starts the timeout of a session with this home shard, without an attached client.
func (r *Replica) Adopt(id shard.SessionID, node shard.NodeID, timeout time.Duration) {
	t := r.set.timing
	t.restoring.RLock()
	defer t.restoring.RUnlock()
	r.Leases.Restore(id, node, timeout, r.set.Now())
}

// RelyOnGrace makes the leases use the shortest grace period known now, including that of a newly created node: the
// leases must know it before the node's first session is attached. The lock ensures that the period is not shortened
// meanwhile.
func (r *Replica) RelyOnGrace() {
	t := r.set.timing
	t.mu.RLock()
	defer t.mu.RUnlock()
	r.Leases.Rely(t.shortest.ceiling)
}
