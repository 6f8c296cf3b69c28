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
	// EffectResult answers the command at index Op of the batch: Status, and a Message unless the status is SUCCESS.
	// Every command has exactly one result, before its other effects. Commands on nodes that succeed have the present
	// Node, or the dropped Node, in the result; an alter that was refused because of its expected version has the
	// Node too.
	EffectResult EffectKind = 1
	// EffectNodeChanged: Node is new, or its config or timing changed.
	EffectNodeChanged EffectKind = 2
	// EffectNodeDropped: Node is gone; the data shards must clear their part of the node.
	EffectNodeDropped EffectKind = 3
	// EffectHostsChanged: clients see hosts otherwise: their names, addresses or states, or which hosts have a replica
	// of a shard.
	EffectHostsChanged EffectKind = 4
	// EffectRoutingChanged: the slot table changed; Routing is the new version.
	EffectRoutingChanged EffectKind = 5
	// EffectHostObservation: a host has caught up with a newer version.
	EffectHostObservation EffectKind = 6
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
	// FlagExisted: the wanted state was there already.
	FlagExisted EffectFlags = 1 << 0
	// FlagChanged: the command changed something.
	FlagChanged EffectFlags = 1 << 1
	// FlagRepeated: the command was answered before. The result is the earlier result, and nothing was changed now.
	FlagRepeated EffectFlags = 1 << 2
)

// Effect is one effect of applying a batch. Which fields count depends on Kind; the rest are zero.
type Effect struct {
	Kind    EffectKind
	Flags   EffectFlags
	Status  protocol.Status
	Op      int32  // index of the command in its batch
	Version uint64 // the machine's version after the command
	Routing uint64 // the slot table's version
	Message string // for people: the error, and what to do instead
	Node    Node
	Host    shard.HostID // of a result: the subject of a command on hosts
	Entry   hosts.Entry
}

// Effects collects the effects of a batch, in order. Reset keeps the memory.
type Effects struct {
	List []Effect
}

// Reset empties the list for the next batch.
func (e *Effects) Reset() {
	clear(e.List) // so that the list keeps no paths and messages alive
	e.List = e.List[:0]
}

var effectNames = [...]string{
	EffectResult:          "result",
	EffectNodeChanged:     "node-changed",
	EffectNodeDropped:     "node-dropped",
	EffectHostsChanged:    "hosts-changed",
	EffectRoutingChanged:  "routing-changed",
	EffectHostObservation: "host-seen",
	EffectLevelChanged:    "level-changed",

	EffectTopologyChanged: "topology-changed",
	EffectAudited:         "audited",
}

// String returns the name of the kind in logs and tests.
func (k EffectKind) String() string {
	return nameOf(k, "effect", effectNames[:])
}

// nameOf returns a name of the list, or the number for a kind that has none.
func nameOf[K ~uint8](k K, what string, names []string) string {
	if int(k) < len(names) && names[k] != "" {
		return names[k]
	}
	return what + "-" + strconv.Itoa(int(k))
}
