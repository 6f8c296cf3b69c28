package replica

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// timing is the bounds for this host while grace and self-check periods change. Two hosts may know different configs
// of a node. So the end of a session goes by the longest grace in force at any host, and the trust in a barrier by
// the shortest grace of all nodes. The machine of the meta shard keeps both bounds until a change has reached all
// hosts (its Timing).
//
// Bounds widen at once, when the change is applied. They narrow on the host's loop, and only while no goroutine
// restores a session: the grace of a session must not fall between the reading of its time and the call.
type timing struct {
	// restoring is read-held while sessions are restored away from the loop. Taken before mu and the locks of tables.
	restoring sync.RWMutex

	mu       sync.RWMutex // guards the fields below; taken within a table's lock
	nodes    map[shard.NodeID]bounds
	narrower map[shard.NodeID]bounds // bounds that the loop is to take over
	gone     map[shard.NodeID]bounds // of dropped nodes, until no shard has remains of them
	changes  map[shard.NodeID]struct{}
	shortest bounds // the shortest grace and the shortest self-check period of all nodes
}

// bounds are the durations of a meta.Timing.
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

// defaultBounds hold if there is no node.
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

// changed notes a node as of now.
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

// reload notes all nodes, after the copy of the meta shard was replaced, and forgets the nodes that the copy lacks.
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

// known returns the nodes that this host goes by.
func (t *timing) known() []shard.NodeID {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.nodes))
}

// forget removes a node that was dropped. Another host may not know of the drop yet and end the node's sessions after
// its grace. So barriers go by the node until no shard has remains of the node.
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

// narrow takes over bounds that have become narrower. It is called on the host's loop.
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

// changing returns the nodes whose timing is not confirmed, as far as this host knows.
func (t *timing) changing() []shard.NodeID {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.changes))
}

// grace is how long the sessions of the node may stay silent on top of their timeout when a leader changes.
func (t *timing) grace(id shard.NodeID) time.Duration {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if b, ok := t.nodes[id]; ok {
		return b.floor
	}
	return meta.MaxSessionGracePeriodMillis * time.Millisecond
}

// LongestGrace is the longest grace period in force of all nodes, in milliseconds.
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

// window is how long a barrier proves that a copy is up to date, period how often a leader makes a barrier.
func (t *timing) window() (window, period time.Duration) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.shortest.ceiling, t.shortest.selfCheck
}

// Adopt gives a session of this home its time, without a client that is attached.
func (r *Replica) Adopt(id shard.SessionID, node shard.NodeID, timeout time.Duration) {
	t := r.set.timing
	t.restoring.RLock()
	defer t.restoring.RUnlock()
	r.Leases.Restore(id, node, timeout, r.set.Now())
}

// RelyOnGrace has the leases go by the shortest grace period that is known now, including the grace of a node that
// came a moment ago: the leases must know it before the first session of the node is attached. The lock makes sure
// that the period is not shortened meanwhile.
func (r *Replica) RelyOnGrace() {
	t := r.set.timing
	t.mu.RLock()
	defer t.mu.RUnlock()
	r.Leases.Rely(t.shortest.ceiling)
}
