package protocol

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Routing asks for each shard's leader and slots.
type Routing struct {
	// KnownVersion is the routing version the client has; 0 for none.
	KnownVersion uint64
}

// RoutingAnswer answers a Routing. If Version equals the client's KnownVersion, the lists are empty.
type RoutingAnswer struct {
	Version uint64
	// MetaShardID is the shard that stores the nodes, one of Shards.
	MetaShardID uint64
	Hosts       Hosts
	Shards      Shards
	// Slots map each slot to a data shard, in ascending order.
	Slots SlotRanges
}

// Hosts is a list of hosts.
type Hosts = List[Host, *Host]

// Host is one running server process.
type Host struct {
	ID   uint64
	Name []byte `wire:"text MaxHostNameBytes"`
	// Address is the host's address for clients.
	Address []byte `wire:"text MaxAddressBytes"`
	State   HostState
}

// Shards is a list of shards.
type Shards = List[Shard, *Shard]

// Shard is one Raft group in the routing.
type Shard struct {
	ID uint64
	// LeaderHostID is 0 if unknown.
	LeaderHostID uint64
	// ReplicaHostIDs are the hosts with a replica of the shard, including the leader.
	ReplicaHostIDs HostIDs
}

// HostIDs is a list of host ids.
type HostIDs = List[HostID, *HostID]

// HostID is a host id as a list item.
type HostID uint64

func (h *HostID) item(c *codec) { c.uint("", (*uint64)(h)) }

// SlotRanges is a list of slot ranges.
type SlotRanges = List[SlotRange, *SlotRange]

// SlotRange names the shard and the generation for the slots First to Last, inclusive.
type SlotRange struct {
	First      uint64
	Last       uint64
	ShardID    uint64
	Generation uint64 // see Moved
}

// RoutingChanged is pushed, with id 0, when the host has a newer routing than it has sent to the client, and when it
// has heard of a shard's leader in a new term.
type RoutingChanged struct {
	Version      uint64
	ShardID      uint64
	LeaderHostID uint64 // 0: the push does not concern a leader
	Term         uint64
}

const (
	// Slots is the number of slots. The routing maps each slot to a shard.
	Slots = 4096
	// SlotSetBytes is the size of a set of slots.
	SlotSetBytes = Slots / 8
	// sessionSlotShift is the slot's bit position in a session id.
	sessionSlotShift = 52
	// MaxSessionCounter is the largest counter below the slot in a session id.
	MaxSessionCounter = 1<<sessionSlotShift - 1
)

// SemaphoreSlot returns a semaphore's slot: xxHash64, with seed 0, over the node id as 8 little-endian bytes followed
// by the name, modulo Slots.
func SemaphoreSlot(nodeID uint64, name []byte) uint16 {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], nodeID)
	var digest xxhash.Digest
	digest.Reset()
	// Writing to a digest never fails.
	_, _ = digest.Write(id[:])
	_, _ = digest.Write(name)
	return uint16(digest.Sum64() % Slots)
}

// SessionSlot returns a session's slot, which is in the upper 12 bits of the id. The lower bits are a counter up to
// MaxSessionCounter that never goes back, so a slot's ids only grow.
func SessionSlot(sessionID uint64) uint16 {
	return uint16(sessionID >> sessionSlotShift)
}
