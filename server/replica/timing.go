package replica

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// timing is what this host goes by while grace and self-check periods change. Two hosts may know
// different configs of a node, so what counts is, for ending sessions, the longest grace that may be in
// force anywhere, and for trusting a barrier the shortest of all nodes. The machine of the meta shard
// keeps both bounds until a change has reached all hosts (its Timing).
//
// Bounds widen at once, where the change is applied. They narrow on the host's loop, and only while no goroutine
// restores a session: the grace that one is given must not fall between the reading of its time and the
// call.
type timing struct {
	// steady is read-held by who restores sessions away from the loop. Taken before mu and tables' locks.
	restoring sync.RWMutex

	mu       sync.RWMutex // guards what follows; taken within a table's lock
	nodes    map[shard.NodeID]bounds
	narrower map[shard.NodeID]bounds // that the loop is to take over
	gone     map[shard.NodeID]bounds // of dropped nodes, until no shard has anything of them
	changes  map[shard.NodeID]struct{}
	shortest bounds // grace and self-check of the nodes that have the shortest
}

// bounds are the durations of a meta.Timing.
type bounds struct{ floor, ceiling, selfCheck time.Duration }

func boundsOf(t meta.Timing) bounds {
	return bounds{
		floor: millis(t.GraceFloorMillis), ceiling: millis(t.GraceCeilingMillis),
		selfCheck: millis(t.SelfCheckCeilingMillis),
	}
}

// over returns bounds that are as wide as both.
func (b bounds) over(o bounds) bounds {
	return bounds{floor: max(b.floor, o.floor), ceiling: min(b.ceiling, o.ceiling),
		selfCheck: min(b.selfCheck, o.selfCheck)}
}

// defaultBounds hold where there is no node.
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

// changed takes in a node as it is now.
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

// reload takes in all nodes, after the copy of the meta shard was replaced, and lets go of those that it lacks.
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

// forget lets go of a node that was dropped. Another host may not know that yet and end the node's sessions
// after its grace, so barriers go by it until no shard has any of them.
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
	for id, b := range t.narrower {
		t.nodes[id] = b
	}
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
	if len(t.changes) == 0 {
		return nil
	}
	ids := make([]shard.NodeID, 0, len(t.changes))
	for id := range t.changes {
		ids = append(ids, id)
	}
	return ids
}

// grace is what sessions of the node get on top of their timeout when a leader changes.
func (t *timing) grace(id shard.NodeID) time.Duration {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if b, ok := t.nodes[id]; ok {
		return b.floor
	}
	return meta.MaxSessionGracePeriodMillis * time.Millisecond
}

// window is for how long a barrier proves that what is here is up to date, period how often a leader
// makes one.
func (t *timing) window() (window, period time.Duration) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.shortest.ceiling, t.shortest.selfCheck
}

// RelyOnGrace has the leases go by the shortest grace period that is known now, also of a node that came a moment
// ago: they must before the first session of a node is attached. What is handed over cannot have been
// shortened meanwhile.
func (r *Replica) RelyOnGrace() {
	t := r.set.timing
	t.mu.RLock()
	defer t.mu.RUnlock()
	r.Leases.Rely(t.shortest.ceiling)
}
