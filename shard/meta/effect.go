package meta

import (
	"strconv"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// EffectKind says what an effect is about.
type EffectKind uint8

const (
	// EffectResult answers the command at index Op of the batch: Status, and a Message where that is not SUCCESS. There
	// is exactly one for every command, before its other effects. Commands on nodes that succeed carry the Node as it
	// is now, or as it was when it was dropped; so does an alter that was refused because of its expected version.
	EffectResult EffectKind = 1
	// EffectNodeChanged: Node is new, or its config or timing changed.
	EffectNodeChanged EffectKind = 2
	// EffectNodeDropped: Node is gone; the data shards are to clear what they have of it.
	EffectNodeDropped EffectKind = 3
	// EffectHostsChanged: a host is new, its record changed, or the record of one that was expelled is gone.
	EffectHostsChanged EffectKind = 4
	// EffectRoutingChanged: the slot table changed; Routing is its new version.
	EffectRoutingChanged EffectKind = 5
	// EffectHostSeen: a host has caught up with a newer version.
	EffectHostSeen EffectKind = 6
	// EffectLevelChanged: the feature level of the cluster has risen.
	EffectLevelChanged EffectKind = 7
	// EffectTopologyChanged: something changed of hosts, replicas, steps, policy or join tokens.
	EffectTopologyChanged EffectKind = 8
	// EffectAudited: Entry is new in the audit history.
	EffectAudited EffectKind = 9
)

// EffectFlags refine a result.
type EffectFlags uint8

const (
	// FlagExisted: what the command makes was there already.
	FlagExisted EffectFlags = 1 << 0
	// FlagChanged: the command changed something.
	FlagChanged EffectFlags = 1 << 1
	// FlagRepeated: the command was answered before. The result is that of then, and nothing was changed now.
	FlagRepeated EffectFlags = 1 << 2
)

// Effect is one thing that applying a batch brought about. Which fields count depends on Kind; the others are zero.
type Effect struct {
	Kind    EffectKind
	Flags   EffectFlags
	Status  protocol.Status
	Op      int32  // index of the command in its batch
	Version uint64 // the machine's version after the command
	Routing uint64 // the slot table's version
	Message string // for people: what was wrong, and what to do instead
	Node    Node
	Host    shard.HostID // of a result: the host that a command on hosts is about
	Entry   hosts.Entry
}

// Effects collects what a batch brought about, in order. Reset keeps the memory.
type Effects struct {
	List []Effect
}

// Reset empties the list for the next batch.
func (e *Effects) Reset() {
	clear(e.List) // so that paths and messages do not outlive what they named
	e.List = e.List[:0]
}

var effectNames = [...]string{
	EffectResult:         "result",
	EffectNodeChanged:    "node-changed",
	EffectNodeDropped:    "node-dropped",
	EffectHostsChanged:   "hosts-changed",
	EffectRoutingChanged: "routing-changed",
	EffectHostSeen:       "host-seen",
	EffectLevelChanged:   "level-changed",

	EffectTopologyChanged: "topology-changed",
	EffectAudited:         "audited",
}

// String returns the kind as logs and tests write it.
func (k EffectKind) String() string {
	if int(k) < len(effectNames) && effectNames[k] != "" {
		return effectNames[k]
	}
	return "effect-" + strconv.Itoa(int(k))
}
