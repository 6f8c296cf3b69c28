package hub

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// topicStage says where a topic is on its way to the worker. It is taken to the worker by one way at a
// time.
type topicStage uint8

const (
	topicQuiet   topicStage = iota // nothing is to be sent
	topicResting                   // in Hub.resting
	topicReady                     // in Hub.ready
	topicPlanned                   // the worker is at it
)

// topic is a semaphore that is watched, whether it exists or not.
type topic struct {
	node shard.NodeID
	name string

	// Guarded by Hub.mu.
	stage    topicStage
	rests    int               // place in Hub.resting
	next     time.Time         // not to be sent again before
	flags    shard.EffectFlags // of what changed since the worker took the topic last
	interest shard.EffectFlags // what any of its watches is to get

	// The worker's own.
	taken   shard.EffectFlags
	watches [wantKinds][]*watch
	count   int
	visited bool
	latest  *change // the one of changes that was asked for last
	changes map[shard.Revision]*change
	// Snapshots that are being sent: the newest, which is kept for a moment, and the one before it. There
	// are no more, however many watches read however slowly.
	snapshot, older *snapshot
}

func (t *topic) key() shard.ObjectName { return shard.ObjectName{Node: t.node, Name: t.name} }

// nameBytes is the name as the machine takes it; it must not be written to.
func (t *topic) nameBytes() []byte { return protocol.View(t.name) }

// add puts a watch in and reports whether the topic's interest may have grown.
func (t *topic) add(w *watch) bool {
	list := &t.watches[w.wants]
	*list = append(*list, w)
	w.topic, w.place = t, len(*list)
	t.count++
	return len(*list) == 1
}

// remove takes a watch out and reports whether the topic's interest may have shrunk.
func (t *topic) remove(w *watch) bool {
	list := t.watches[w.wants]
	last := len(list) - 1
	moved := list[last]
	list[w.place-1], moved.place = moved, w.place
	list[last] = nil
	t.watches[w.wants] = list[:last]
	w.place = 0
	t.count--
	return last == 0
}

// interests returns what the watches are to get, all together.
func (t *topic) interests() shard.EffectFlags {
	var f shard.EffectFlags
	for w, list := range t.watches {
		if len(list) > 0 {
			f |= wants(w).flags()
		}
	}
	return f
}
