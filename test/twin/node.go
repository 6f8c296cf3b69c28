package twin

import (
	"maps"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// knownNodes returns, by id, the nodes with contents or quotas here, and nodes being dropped.
func (t *Twin) knownNodes() []shard.NodeID {
	known := make(map[shard.NodeID]bool)
	for id := range t.dropping {
		known[id] = true
	}
	for id := range t.limited {
		known[id] = true
	}
	for _, s := range t.sessions {
		known[s.node] = true
	}
	for p := range t.semaphores {
		known[p.node] = true
	}
	return slices.Sorted(maps.Keys(known))
}

func (t *Twin) isKnown(node shard.NodeID) bool {
	return slices.Contains(t.knownNodes(), node)
}

// seeNode is called before something is put into the node.
func (t *Twin) seeNode(node shard.NodeID) {
	if !t.isKnown(node) {
		t.emit(shard.Effect{Kind: shard.EffectNodeSeen, Node: node})
	}
}

// sessionsOf returns the node's sessions by id, including remote ones.
func (t *Twin) sessionsOf(node shard.NodeID) []*session {
	var list []*session
	for _, s := range t.sessions {
		if s.node == node {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *session) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return list
}

// semaphoresOf returns the node's semaphores by name.
func (t *Twin) semaphoresOf(node shard.NodeID) []*semaphore {
	var list []*semaphore
	for p, sem := range t.semaphores {
		if p.node == node {
			list = append(list, sem)
		}
	}
	slices.SortFunc(list, func(a, b *semaphore) int { return strings.Compare(a.name, b.name) })
	return list
}

// nodeDrop removes up to Count objects from the node: semaphores first, then sessions.
func (t *Twin) nodeDrop(c *shard.Command) {
	if c.Count == 0 || c.Count > shard.MaxList {
		t.answer(shard.Effect{Status: protocol.StatusBadRequest})
		return
	}
	if !t.isKnown(c.Node) {
		t.answer(shard.Effect{})
		return
	}
	t.dropping[c.Node] = true
	for range c.Count {
		if t.left <= 0 {
			break
		}
		if sems := t.semaphoresOf(c.Node); len(sems) > 0 {
			t.destroy(sems[0])
		} else if sessions := t.sessionsOf(c.Node); len(sessions) > 0 {
			if t.hasEnded(sessions[0]) {
				t.releaseAll(sessions[0])
			} else {
				t.end(sessions[0], protocol.EndNodeDropped)
			}
		} else {
			break
		}
	}
	if len(t.semaphoresOf(c.Node)) > 0 || len(t.sessionsOf(c.Node)) > 0 {
		t.answer(shard.Effect{Flags: shard.FlagMore})
		return
	}
	delete(t.dropping, c.Node)
	delete(t.limited, c.Node)
	t.answer(shard.Effect{})
}
