package meta

import (
	"strconv"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// EffectKind identifies an effect type.
type EffectKind uint8

const (
	// EffectResult answers the command at index Op in the batch: Status, and a Message unless the status is SUCCESS.
	// Every command has exactly one result, before its other effects. For successful node commands, Node is the present
	// or the dropped node; an alter refused because of its expected version has the Node too.
	EffectResult EffectKind = 1
	// EffectNodeChanged: Node is new, or its config or timing changed.
	EffectNodeChanged EffectKind = 2
	// EffectNodeDropped: Node is gone; the data shards must clear its content.
	EffectNodeDropped EffectKind = 3
	// EffectHostsChanged: the clients' view of hosts changed: names, addresses or states, or which hosts have a replica
	// of a shard.
	EffectHostsChanged EffectKind = 4
	// EffectRoutingChanged: the slot table changed; Routing is the new version.
	EffectRoutingChanged EffectKind = 5
	// EffectHostObservation: a host has caught up with a newer version.
	EffectHostObservation EffectKind = 6
	// EffectLevelChanged: the cluster's feature level has risen.
	EffectLevelChanged EffectKind = 7
	// EffectTopologyChanged: hosts, replicas, steps, policy or join tokens changed.
	EffectTopologyChanged EffectKind = 8
	// EffectAudited: Entry was added to the audit log.
	EffectAudited EffectKind = 9
)

// EffectFlags refine a result.
type EffectFlags uint8

const (
	// FlagExisted: the requested state already existed.
	FlagExisted EffectFlags = 1 << 0
	// FlagChanged: the command changed something.
	FlagChanged EffectFlags = 1 << 1
	// FlagRepeated: the command was answered before. The result is the earlier result, and nothing was changed now.
	FlagRepeated EffectFlags = 1 << 2
)

// Effect is one effect from applying a batch. Which fields count depends on Kind; the rest are zero.
type Effect struct {
	Kind    EffectKind
	Flags   EffectFlags
	Status  protocol.Status
	Op      int32  // the command's index in its batch
	Version uint64 // the machine's version after the command
	Routing uint64 // the slot table's version
	Message string // for people: the error, and what to do instead
	Node    Node
	Host    shard.HostID // for a result: the host a command concerns
	Shard   ShardID      // for a result: the first shard that a command added
	Entry   hosts.Entry
}

// Effects collects a batch's effects, in order. Reset keeps the memory.
type Effects struct {
	List []Effect
}

// Reset empties the list for the next batch.
func (e *Effects) Reset() {
	clear(e.List) // so that the list does not retain paths and messages
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

// String returns the kind's name in logs and tests.
func (k EffectKind) String() string {
	return nameOf(k, "effect", effectNames[:])
}

// nameOf returns a name from the list, or the number for a kind without a name.
func nameOf[K ~uint8](k K, what string, names []string) string {
	if int(k) < len(names) && names[k] != "" {
		return names[k]
	}
	return what + "-" + strconv.Itoa(int(k))
}
