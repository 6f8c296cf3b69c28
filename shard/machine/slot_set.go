package machine

import (
	"encoding/binary"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// A session's slot set has the slots in which the shard has answered a numbered command of the session, and the slots
// that arrived with numbers of the session. When a slot moves, the slot snapshot contains the numbers of exactly the
// sessions whose set has the slot. So a late copy of a command is never executed a second time.
//
// Most sessions use few slots. Up to inlineSlots slots are in a word; all words are in a Column, so that a seal scans
// the words fast. Up to listSlots slots are in a list, and more slots in a bitmap. The form follows from the number of
// slots, so all replicas count the same size in quotas.

const (
	inlineSlots = 4
	listSlots   = 16
)

// slotWord is a session's set: the slots, as slotNumbers in four parts of 16 bits, or the handle of a list or a bitmap.
type slotWord uint64

const (
	slotOnes   slotWord = 0x0001_0001_0001_0001
	wordOfList slotWord = 1 << 61 // above every slot number in the last part
	wordOfMap  slotWord = 1 << 62
)

// slotSets are the slot sets of all sessions, by handle.
type slotSets struct {
	words arena.Column[slotWord]
	lists arena.Slab[[listSlots]slotNumber]
	maps  arena.Slab[shard.SlotSet]
}

// has reports whether a word without handle has a slot.
func (w slotWord) has(slot shard.Slot) bool {
	x := w ^ slotOnes*slotWord(numberOf(slot))
	return (x-slotOnes)&^x&(slotOnes<<15) != 0 // a part is zero
}

func (w slotWord) handle() arena.Handle { return arena.Handle(w) }

// numberOf returns a slot's slotNumber.
func numberOf(slot shard.Slot) slotNumber { return slotNumber(slot) + 1 }

// has reports whether a session's set has a slot.
func (ss *slotSets) has(h arena.Handle, slot shard.Slot) bool {
	switch w := *ss.words.At(h); {
	case w < wordOfList:
		return w.has(slot)
	case w < wordOfMap:
		return slices.Contains(ss.lists.At(w.handle())[:], numberOf(slot))
	default:
		return ss.maps.At(w.handle()).Has(slot)
	}
}

// size returns the bytes that a session's set adds to the size of the session in quotas.
func (ss *slotSets) size(h arena.Handle) int {
	switch w := *ss.words.At(h); {
	case w < wordOfList:
		return 0
	case w < wordOfMap:
		return shard.SlotListBytes
	default:
		return shard.SlotMapBytes
	}
}

// appendTo appends a session's slots in order.
func (ss *slotSets) appendTo(dst []shard.Slot, h arena.Handle) []shard.Slot {
	from := len(dst)
	switch w := *ss.words.At(h); {
	case w < wordOfList:
		for ; w != 0; w >>= 16 {
			if n := slotNumber(w); n != 0 {
				dst = append(dst, shard.Slot(n-1))
			}
		}
	case w < wordOfMap:
		for _, n := range ss.lists.At(w.handle()) {
			if n != 0 {
				dst = append(dst, shard.Slot(n-1))
			}
		}
	default:
		set := ss.maps.At(w.handle())
		for i := range set.Len() {
			dst = append(dst, set.At(i))
		}
	}
	slices.Sort(dst[from:])
	return dst
}

// set replaces a session's set.
func (ss *slotSets) set(h arena.Handle, slots []shard.Slot) {
	w := ss.words.At(h)
	switch {
	case *w >= wordOfMap:
		ss.maps.Release(w.handle())
	case *w >= wordOfList:
		ss.lists.Release(w.handle())
	}
	*w = 0
	switch {
	case len(slots) <= inlineSlots:
		for i, slot := range slots {
			*w |= slotWord(numberOf(slot)) << (16 * i)
		}
	case len(slots) <= listSlots:
		list := ss.lists.Alloc()
		for i, slot := range slots {
			ss.lists.At(list)[i] = numberOf(slot)
		}
		*w = wordOfList | slotWord(list)
	default:
		set := ss.maps.Alloc()
		for _, slot := range slots {
			ss.maps.At(set).Add(slot, slot)
		}
		*w = wordOfMap | slotWord(set)
	}
}

// add adds a slot that a session's set does not have.
func (ss *slotSets) add(h arena.Handle, slot shard.Slot) {
	switch w := ss.words.At(h); {
	case *w < wordOfList:
		for i := 0; i < 64; i += 16 {
			if slotNumber(*w>>i) == 0 {
				*w |= slotWord(numberOf(slot)) << i
				return
			}
		}
	case *w < wordOfMap:
		list := ss.lists.At(w.handle())
		if i := slices.Index(list[:], 0); i >= 0 {
			list[i] = numberOf(slot)
			return
		}
	default:
		ss.maps.At(w.handle()).Add(slot, slot)
		return
	}
	var buf [listSlots + 1]shard.Slot
	ss.set(h, append(ss.appendTo(buf[:0], h), slot))
}

// remove removes a slot from a session's set.
func (ss *slotSets) remove(h arena.Handle, slot shard.Slot) {
	switch w := ss.words.At(h); {
	case *w >= wordOfMap && ss.maps.At(w.handle()).Len() > listSlots+1:
		ss.maps.At(w.handle()).Remove(slot)
	default:
		var buf [listSlots + 1]shard.Slot
		rest := ss.appendTo(buf[:0], h)
		ss.set(h, slices.DeleteFunc(rest, func(s shard.Slot) bool { return s == slot }))
	}
}

// sessionsIn appends the sessions whose set has a slot, in no particular order.
func (ss *slotSets) sessionsIn(slot shard.Slot, dst []arena.Handle) []arena.Handle {
	for chunk := range ss.words.Chunks() {
		first, words := ss.words.Chunk(chunk)
		for i, w := range words {
			if w < wordOfList && !w.has(slot) {
				continue
			}
			if h := first + arena.Handle(i); w < wordOfList || ss.has(h, slot) {
				dst = append(dst, h)
			}
		}
	}
	return dst
}

// noteSlot adds a slot to a session's set.
func (se *Sessions) noteSlot(h arena.Handle, slot shard.Slot) {
	s := se.At(h)
	s.noted = numberOf(slot)
	if se.sets.has(h, slot) {
		return
	}
	se.core.Snapshots.touchSession(h)
	before := se.sets.size(h)
	se.sets.add(h, slot)
	se.core.Nodes.Charge(se.Node(s), se.sets.size(h)-before)
}

// appendSlots encodes slots in order: the number of slots, and the gaps between slots.
func appendSlots(dst []byte, slots []shard.Slot) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(slots)))
	next := shard.Slot(0)
	for _, slot := range slots {
		dst = binary.AppendUvarint(dst, uint64(slot-next))
		next = slot + 1
	}
	return dst
}

// readSlots reads slots that a shard owns.
func readSlots(r *codec.Input, owned func(shard.Slot) bool) []shard.Slot {
	n := r.Number()
	if !r.Must(n <= shard.Slots && n <= uint64(len(r.Data)), "a session has used more slots than there are") || n == 0 {
		return nil
	}
	list, next := make([]shard.Slot, 0, n), uint64(0)
	for range n {
		gap := r.Number()
		if !r.Must(gap < shard.Slots && next+gap < shard.Slots && owned(shard.Slot(next+gap)),
			"a session has used a slot that the shard does not own") {
			return nil
		}
		list = append(list, shard.Slot(next+gap))
		next += gap + 1
	}
	return list
}
