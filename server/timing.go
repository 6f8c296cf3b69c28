package server

import (
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// timing is what this host goes by while grace and self-check periods change. Two hosts may know
// different configs of a node, so what counts is, for ending sessions, the longest grace that this host
// has ever seen for the node since it started, and for trusting a barrier the shortest of all nodes. The
// machine of the meta shard keeps both bounds until a change has reached all hosts (its Timing).
type timing struct {
	mu        sync.RWMutex
	floors    map[shard.NodeID]time.Duration
	ceiling   time.Duration // the shortest grace of any node
	selfCheck time.Duration // the shortest self-check period of any node
}

func newTiming() *timing {
	return &timing{
		floors:    make(map[shard.NodeID]time.Duration),
		ceiling:   meta.DefaultSessionGracePeriodMillis * time.Millisecond,
		selfCheck: meta.DefaultSelfCheckPeriodMillis * time.Millisecond,
	}
}

// changed takes in a node as it is now.
func (t *timing) changed(n meta.Node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.floors[n.ID] = max(t.floors[n.ID], millis(n.Timing.GraceFloorMillis))
	t.ceiling = min(t.ceiling, millis(n.Timing.GraceCeilingMillis))
	t.selfCheck = min(t.selfCheck, millis(n.Timing.SelfCheckCeilingMillis))
}

// reload takes in all nodes, after the copy of the meta shard was replaced.
func (t *timing) reload(m *meta.Machine) {
	for after, more := "", true; more; {
		var page []meta.Node
		page, more = m.Nodes("", after, shard.MaxPage)
		for _, n := range page {
			t.changed(n)
			after = n.Path
		}
	}
}

// forget drops a node that is gone.
func (t *timing) forget(id shard.NodeID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.floors, id)
}

// grace is what sessions of the node get on top of their timeout when a leader changes.
func (t *timing) grace(id shard.NodeID) time.Duration {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if d, ok := t.floors[id]; ok {
		return d
	}
	return meta.MaxSessionGracePeriodMillis * time.Millisecond
}

// window is for how long a barrier proves that what is here is up to date, period how often a leader
// makes one.
func (t *timing) window() (window, period time.Duration) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.ceiling, t.selfCheck
}
