package protocol

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

const (
	// Slots is the number of slots, each of which the routing maps to a shard.
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
	// A digest takes everything.
	_, _ = digest.Write(id[:])
	_, _ = digest.Write(name)
	return uint16(digest.Sum64() % Slots)
}

// SessionSlot returns the slot of a session, which its id carries in the upper 12 bits.
func SessionSlot(sessionID uint64) uint16 {
	return uint16(sessionID >> sessionSlotShift)
}

// NewSessionID returns the id of a session in a slot. The counter is at most MaxSessionCounter and never
// goes back, so that ids of a slot only grow.
func NewSessionID(slot uint16, counter uint64) uint64 {
	return uint64(slot)<<sessionSlotShift | counter
}
