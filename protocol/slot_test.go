package protocol

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
)

// TestSemaphoreSlot: slots belong to the protocol, because clients in other languages compute slots. The specification
// of xxHash64 gives the hashes for "" and "abc", and so pins the seed and byte order; equal slots for different names
// pin the node id's byte order.
func TestSemaphoreSlot(t *testing.T) {
	type slot struct {
		NodeID uint64 `json:"node_id"`
		Name   string `json:"name"`
		Hashed string `json:"hashed"`
		Slot   uint16 `json:"slot"`
	}
	var slots []slot
	for _, s := range []slot{
		{NodeID: 1, Name: "a"}, {NodeID: 1, Name: "leader"}, {NodeID: 2, Name: "leader"},
		{NodeID: 17, Name: "orders/eu-west/00417"}, {NodeID: 17, Name: "étage/3"},
		{NodeID: 1<<53 - 1, Name: strings.Repeat("x", 40)},
		{NodeID: 0x6867666564636261, Name: "ijk"},
	} {
		var le [8]byte
		for i := range le {
			le[i] = byte(s.NodeID >> (8 * i))
		}
		s.Hashed = hex.EncodeToString(append(le[:], s.Name...))
		s.Slot = SemaphoreSlot(s.NodeID, []byte(s.Name))
		slots = append(slots, s)
		if got := uint16(plainXXH64(append(le[:], s.Name...)) % 4096); s.Slot != got {
			t.Errorf("slot of %d %q is %d, want %d", s.NodeID, s.Name, s.Slot, got)
		}
	}
	slots = slots[:len(slots)-1] // its node id is no JSON number
	compareFile(t, filepath.Join("testdata", "vectors", "slots.json"), marshal(t, slots))
}

func TestPlainXXH64IsXXH64(t *testing.T) {
	for in, want := range map[string]uint64{
		"":    0xef46db3751d8e999,
		"a":   0xd24ec4f1a98c6e5b,
		"abc": 0x44bc2cf5ad770999,
	} {
		if got := plainXXH64([]byte(in)); got != want {
			t.Errorf("xxHash64 of %q is %x, want %x", in, got, want)
		}
	}
}

// plainXXH64 is xxHash64 with seed 0, written from its specification.
func plainXXH64(b []byte) uint64 {
	const (
		p1 = 11400714785074694791
		p2 = 14029467366897019727
		p3 = 1609587929392839161
		p4 = 9650029242287828579
		p5 = 2870177450012600261
	)
	rotate := func(x uint64, n int) uint64 { return x<<n | x>>(64-n) }
	word := func(b []byte, n int) (v uint64) {
		for i := range n {
			v |= uint64(b[i]) << (8 * i)
		}
		return v
	}
	round := func(acc, lane uint64) uint64 { return rotate(acc+lane*p2, 31) * p1 }
	length := uint64(len(b))
	one := uint64(1) // a variable, because a constant sum below would overflow
	h := p5 * one
	if len(b) >= 32 {
		lanes := [4]uint64{p1*one + p2, p2, 0, 0 - p1*one}
		for ; len(b) >= 32; b = b[32:] {
			for i := range lanes {
				lanes[i] = round(lanes[i], word(b[8*i:], 8))
			}
		}
		h = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18)
		for _, lane := range lanes {
			h = (h^round(0, lane))*p1 + p4
		}
	}
	h += length
	for ; len(b) >= 8; b = b[8:] {
		h = rotate(h^round(0, word(b, 8)), 27)*p1 + p4
	}
	if len(b) >= 4 {
		h = rotate(h^word(b, 4)*p1, 23)*p2 + p3
		b = b[4:]
	}
	for _, c := range b {
		h = rotate(h^uint64(c)*p5, 11) * p1
	}
	h ^= h >> 33
	h *= p2
	h ^= h >> 29
	h *= p3
	return h ^ h>>32
}

func TestSessionIDsContainTheirSlot(t *testing.T) {
	for _, slot := range []uint16{0, 1, 2047, Slots - 1} {
		for _, counter := range []uint64{0, 1, MaxSessionCounter} {
			id := uint64(slot)<<sessionSlotShift | counter
			if got := SessionSlot(id); got != slot {
				t.Errorf("session %d of slot %d has slot %d", counter, slot, got)
			}
			if id&MaxSessionCounter != counter {
				t.Errorf("session %d of slot %d has counter %d", counter, slot, id&MaxSessionCounter)
			}
		}
	}
}
