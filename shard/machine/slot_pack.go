package machine

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/slots"
)

// The bytes of a slot snapshot are the records of a snapshot file, in three sections, and the number entries. Each
// section begins with its length:
//
//	sessions that are at home in the slot, or have holdings or cached responses there, by id
//	objects, by node and name
//	holdings, by order id
//	number entries, by id: id 8 bytes, node varint, applied number varint, its distance to the acknowledged one varint
//
// A record refers to sessions and objects by their positions in their sections, from 1 on, so the bytes are equal on
// all replicas. The slot set of a session record has at most the slot.

// slotParts are a slot's sessions, objects and holdings, in order.
type slotParts struct {
	sessions, objects, holdings, entries []arena.Handle
	answers                              int
	bytes                                int // approximately
}

// Pack implements slots.Content.
func (sc *slotContent) Pack(slot shard.Slot, limits slots.Limits) (*slots.Snapshot, string, error) {
	co := sc.co
	if later := co.busy(slot); later != "" {
		return nil, later, nil
	}
	parts, err := co.partsOf(slot, limits)
	if err != nil {
		return nil, "", err
	}
	for _, list := range [][]arena.Handle{parts.sessions, parts.entries} {
		for _, h := range list {
			if co.Sessions.Node(co.Sessions.At(h)).Dropping {
				return nil, dropped, nil
			}
		}
	}
	for _, h := range parts.objects {
		if co.Objects.Node(co.Objects.At(h)).Dropping {
			return nil, dropped, nil
		}
	}
	return &slots.Snapshot{
		Now: co.Clock.Now, LastOrder: uint64(co.lastOrder), LastRevision: uint64(co.lastRevision),
		LastSession: co.Sessions.last, Records: uint64(parts.records()), Bytes: co.packParts(slot, parts),
	}, "", nil
}

const dropped = "a node that is being dropped has content in the slot"

// busy returns why a slot cannot move now, or "": pending work has content in the slot.
func (co *Core) busy(slot shard.Slot) string {
	for _, p := range co.Pending.list {
		if p.object != 0 && co.Objects.At(p.object).slot == slot || p.session != 0 &&
			(co.Sessions.At(p.session).id.Slot() == slot || co.Sessions.sets.has(p.session, slot)) {
			return "pending work has content in the slot"
		}
	}
	return ""
}

func (sp *slotParts) records() int {
	return len(sp.sessions) + len(sp.objects) + len(sp.holdings) + len(sp.entries) + sp.answers
}

// check returns an error for parts that are far above the limits, before much work is done.
func (sp *slotParts) check(limits slots.Limits) error {
	return slots.Limits{Bytes: 4 * limits.Bytes, Records: limits.Records}.Check(sp.bytes, sp.records())
}

// partsOf collects the content of a slot snapshot. It stops with an error as soon as the slot is far above the limits.
func (co *Core) partsOf(slot shard.Slot, limits slots.Limits) (*slotParts, error) {
	sp := &slotParts{objects: co.Objects.slots[slot].Handles(nil)}
	if err := sp.check(limits); err != nil {
		return nil, err
	}
	whole := make(map[arena.Handle]bool) // sessions with a record
	for _, object := range sp.objects {
		o := co.Objects.At(object)
		sp.bytes += co.Objects.size(o) - shard.ObjectBytes
		if err := limits.Check(0, sp.records()+int(o.Held)); err != nil {
			return nil, err
		}
		for h := co.Holdings.First(o); h != 0; h = co.Holdings.Next(h) {
			l := co.Holdings.At(h)
			sp.bytes += co.Holdings.sizeOf(l) - shard.LinkBytes
			sp.holdings, whole[l.Session] = append(sp.holdings, h), true
		}
		if err := sp.check(limits); err != nil {
			return nil, err
		}
	}
	for _, h := range co.Sessions.slots[slot].Handles(nil) {
		whole[h] = true
	}
	for _, h := range co.Sessions.sets.sessionsIn(slot, nil) {
		if n := len(co.answersIn(h, slot)); n > 0 {
			sp.answers += n
			whole[h] = true
		} else if !whole[h] {
			sp.entries = append(sp.entries, h)
		}
	}
	for h := range whole {
		sp.sessions = append(sp.sessions, h)
	}
	byID := func(a, b arena.Handle) int { return cmp.Compare(co.Sessions.At(a).id, co.Sessions.At(b).id) }
	slices.SortFunc(sp.sessions, byID)
	slices.SortFunc(sp.entries, byID)
	slices.SortFunc(sp.objects, func(a, b arena.Handle) int {
		if co.Objects.stands(a, b) {
			return -1
		}
		return 1
	})
	slices.SortFunc(sp.holdings, func(a, b arena.Handle) int {
		return cmp.Compare(co.Holdings.At(a).Order, co.Holdings.At(b).Order)
	})
	return sp, sp.check(limits)
}

// answersIn returns a session's cached responses in a slot.
func (co *Core) answersIn(h arena.Handle, slot shard.Slot) (list []answer) {
	for _, a := range co.Sessions.answersOf(co.Sessions.At(h)) {
		if a.slot == numberOf(slot) {
			list = append(list, a)
		}
	}
	return list
}

func (co *Core) packParts(slot shard.Slot, sp *slotParts) (dst []byte) {
	places := func(list []arena.Handle) map[arena.Handle]uint64 {
		m := make(map[arena.Handle]uint64, len(list))
		for i, h := range list {
			m[h] = uint64(i + 1)
		}
		return m
	}
	sessions, objects := places(sp.sessions), places(sp.objects)
	snaps := &co.Snapshots
	section := func(list []arena.Handle, record func(dst []byte, i int, h arena.Handle) []byte) {
		var records []byte
		for i, h := range list {
			start := len(records)
			records = endRecord(record(append(records, 0, 0, 0, 0), i, h), start)
		}
		dst = append(binary.AppendUvarint(dst, uint64(len(records))), records...)
	}
	section(sp.sessions, func(dst []byte, i int, h arena.Handle) []byte {
		s := co.Sessions.At(h)
		var used []shard.Slot
		if co.Sessions.sets.has(h, slot) {
			used = []shard.Slot{slot}
		}
		return snaps.appendSessionPart(binary.AppendUvarint(dst, uint64(i+1)), s, s.id.Slot() == slot, 0, used,
			co.answersIn(h, slot))
	})
	section(sp.objects, func(dst []byte, i int, h arena.Handle) []byte {
		return snaps.appendBody(snaps.appendObject(binary.AppendUvarint(dst, uint64(i+1)), h), phaseObjects, h)
	})
	section(sp.holdings, func(dst []byte, _ int, h arena.Handle) []byte {
		l := co.Holdings.At(h)
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, sessions[l.Session]), objects[l.Object])
		return snaps.appendBody(snaps.appendLink(dst, h), phaseLinks, h)
	})
	dst = binary.AppendUvarint(dst, uint64(len(sp.entries)))
	for _, h := range sp.entries {
		s := co.Sessions.At(h)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(s.id))
		dst = binary.AppendUvarint(dst, uint64(co.Sessions.Node(s).ID))
		dst = binary.AppendUvarint(dst, s.applied)
		dst = binary.AppendUvarint(dst, s.applied-s.acked)
	}
	return dst
}
