package protocol

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Routing asks for the leader of each shard, and for the slots of each shard.
type Routing struct {
	// KnownVersion is the version of the routing that the client has; 0 for none.
	KnownVersion uint64
}

// RoutingAnswer answers a Routing. Where Version equals the KnownVersion of the client, the lists are empty.
type RoutingAnswer struct {
	Version uint64
	// MetaShardID is the shard of the nodes, one of Shards.
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
	// Address is the address of the host for clients.
	Address []byte `wire:"text MaxAddressBytes"`
	State   HostState
}

// Shards is a list of shards.
type Shards = List[Shard, *Shard]

// Shard is one Raft group, as the routing knows it.
type Shard struct {
	ID uint64
	// LeaderHostID is 0 for an unknown leader.
	LeaderHostID uint64
	// ReplicaHostIDs are the hosts that hold the shard, the leader among them.
	ReplicaHostIDs HostIDs
}

// HostIDs is a list of host ids.
type HostIDs = List[HostID, *HostID]

// HostID is the id of a host, as an item of a list.
type HostID uint64

func (h *HostID) item(c *codec) { c.uint("", (*uint64)(h)) }

// SlotRanges is a list of slot ranges.
type SlotRanges = List[SlotRange, *SlotRange]

// SlotRange names the shard and the generation of the slots from First to Last, both included.
type SlotRange struct {
	First      uint64
	Last       uint64
	ShardID    uint64
	Generation uint64 // see Moved
}

// RoutingChanged is pushed, with id 0, when the host has a newer routing than the host has sent to the client, and when
// the host has heard of a shard's leader in a new term.
type RoutingChanged struct {
	Version      uint64
	ShardID      uint64
	LeaderHostID uint64 // 0: the push is not about a leader
	Term         uint64
}

const (
	// Slots is the number of slots. The routing maps each slot to a shard.
	Slots = 4096
	// sessionSlotShift is where the slot sits in a session id.
	sessionSlotShift = 52
	// MaxSessionCounter is the largest counter below the slot in a session id.
	MaxSessionCounter = 1<<sessionSlotShift - 1
)

// SemaphoreSlot returns the slot of a semaphore: xxHash64, with seed 0, of the node id as 8 bytes in
// little-endian order followed by the name, modulo Slots.
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

// SessionSlot returns the slot of a session, which is in the upper 12 bits of the session's id. The lower bits are a
// counter of at most MaxSessionCounter that never goes back, so that ids of a slot only grow.
func SessionSlot(sessionID uint64) uint16 {
	return uint16(sessionID >> sessionSlotShift)
}
