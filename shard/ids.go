package shard

import (
	"encoding/binary"
	"math/bits"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Slots is the number of hash buckets that sessions and named objects are spread over.
const Slots = 4096

const (
	slotBits    = 12
	counterBits = 64 - slotBits
)

// MaxSessionCounter is the highest counter in a session id.
const MaxSessionCounter = 1<<counterBits - 1

// Slot is one of the Slots hash buckets. A versioned table maps every slot to a data shard.
type Slot uint16

// NodeID is a coordination node's unique id. The id is never reused, not even for a new node with the same path.
type NodeID uint64

// OrderID is the number a waiter or an owner got on joining: the fencing token. One counter per shard issues all order
// ids; the counter never goes back. The lower bits are the shard id, the order id's class: no two shards issue the same
// order id, and a shard that takes over a name continues above the previous shard's counter.
type OrderID uint64

const orderClassBits = 10

// MaxShard is the highest data shard id: shard ids have as many bits as order-id classes.
const MaxShard = 1<<orderClassBits - 1

// Revision numbers a shard's visible changes. A semaphore's revision is the number of its last visible change. The
// revision grows with each change, also through deletion and re-creation.
type Revision uint64

// SessionID identifies a session. The upper bits are the session's slot, so any host can route a request; the lower
// bits are a counter at its home shard that only grows.
type SessionID uint64

// NewSessionID builds a session id. The counter must be above zero and fit into 52 bits.
func NewSessionID(slot Slot, counter uint64) SessionID {
	if slot >= Slots || counter == 0 || counter > MaxSessionCounter {
		panic("shard: session id out of range: slot " + strconv.Itoa(int(slot)) +
			", counter " + strconv.FormatUint(counter, 10))
	}
	return SessionID(uint64(slot)<<counterBits | counter)
}

// Slot returns the session's slot; the slot's shard is the session's home.
func (s SessionID) Slot() Slot { return Slot(s >> counterBits) }

// Counter returns the session's number in creation order at its home shard.
func (s SessionID) Counter() uint64 { return uint64(s) & MaxSessionCounter }

// String formats the id as tools show it: slot and counter.
func (s SessionID) String() string {
	return strconv.Itoa(int(s.Slot())) + "-" + strconv.FormatUint(s.Counter(), 10)
}

// ObjectHash is the hash that places a named object. The lower bits are the slot.
func ObjectHash(node NodeID, name []byte) uint64 {
	var buf [8 + 128]byte
	binary.LittleEndian.PutUint64(buf[:8], uint64(node))
	if len(name) <= len(buf)-8 {
		n := copy(buf[8:], name)
		return xxhash.Sum64(buf[:8+n])
	}
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(buf[:8])
	_, _ = d.Write(name)
	return d.Sum64()
}

// SlotOf returns the slot for an object with the name in the node.
func SlotOf(node NodeID, name []byte) Slot { return Slot(ObjectHash(node, name) % Slots) }

// SlotSet is a set of slots, such as a shard's slots.
type SlotSet [Slots / 64]uint64

// Add adds the slots first to last, inclusive.
func (s *SlotSet) Add(first, last Slot) {
	for i := int(first); i <= int(last); i++ {
		s[i/64] |= 1 << (i % 64)
	}
}

// Remove removes a slot.
func (s *SlotSet) Remove(slot Slot) { s[slot/64] &^= 1 << (slot % 64) }

// Has reports whether the slot is in the set.
func (s *SlotSet) Has(slot Slot) bool {
	return slot < Slots && s[slot/64]&(1<<(slot%64)) != 0
}

// Len returns how many slots are in the set.
func (s *SlotSet) Len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// Bytes returns the set as in messages: slot i is bit i%8 of byte i/8.
func (s *SlotSet) Bytes() (list []byte) {
	for _, word := range s {
		list = binary.LittleEndian.AppendUint64(list, word)
	}
	return list
}

// At returns the slot at an index among the set's slots in order. Indexes start at 0 and end before Len.
func (s *SlotSet) At(place int) Slot {
	for i, word := range s {
		n := bits.OnesCount64(word)
		if place >= n {
			place -= n
			continue
		}
		for ; place > 0; place-- {
			word &= word - 1 // without the lowest slot
		}
		return Slot(i*64 + bits.TrailingZeros64(word))
	}
	panic("shard: the set has no slot at that place")
}

// EverySlot is the set of all slots, which a cluster's only shard serves.
func EverySlot() SlotSet {
	var s SlotSet
	s.Add(0, Slots-1)
	return s
}
