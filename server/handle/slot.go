package handle

import (
	"strconv"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// Elsewhere returns the reply to a request for a slot that a replica does not serve, because it does not lead or its
// shard does not own the slot. A slot that is about to leave or to arrive makes the request wait; then again handles it
// once more. Otherwise the client is redirected. generation is the highest generation of the slot known to the client.
func (h *Host) Elsewhere(rp *replica.Replica, slot shard.Slot, generation uint64, again Reader) (Reply, error) {
	switch course, result := h.Set.Elsewhere(rp, slot, generation); course {
	case replica.Again:
		return again()
	case replica.Redirect:
		return nil, &result
	}
	return Later(func(t Ticket) {
		if !h.Set.AwaitSlot(rp, slot, generation, func(ended bool) {
			if ended {
				t.Complete(again())
			} else {
				t.Fail(&replica.BetweenShards)
			}
		}) {
			t.Fail(&replica.BetweenShards)
		}
	}), nil
}

// ReadIn is Read in the shard that has a slot. read gets the shard's replica, and may run more than once if the slot
// moves meanwhile. If the client knows a later owner than the host, the read needs a barrier.
func (h *Host) ReadIn(slot shard.Slot, generation uint64, consistency protocol.Consistency,
	read func(rp *replica.Replica) (Reply, error),
) (Reply, error) {
	rp := h.Set.Of(slot)
	again := func() (Reply, error) { return h.ReadIn(slot, generation, consistency, read) }
	if !rp.Holds() {
		return h.Elsewhere(rp, slot, generation, again)
	}
	if generation > h.Set.Generation(slot) {
		consistency = protocol.ConsistencyStrict
	}
	return h.Read(rp, consistency, func() (Reply, error) { return h.ReadHere(rp, slot, generation, consistency, read) })
}

// ReadHere reads a replica as ReadIn does after the barrier. If the slot is not there, or leaves, ReadHere restarts.
func (h *Host) ReadHere(rp *replica.Replica, slot shard.Slot, generation uint64, consistency protocol.Consistency,
	read func(rp *replica.Replica) (Reply, error),
) (Reply, error) {
	again := func() (Reply, error) { return h.ReadIn(slot, generation, consistency, read) }
	owned, changes := rp.Machine.Owns(slot)
	if !owned {
		return h.Elsewhere(rp, slot, generation, again)
	}
	reply, err := read(rp)
	if _, after := rp.Machine.Owns(slot); after != changes {
		return again()
	}
	return reply, err
}

// Page is the part of a list that a page may contain.
type Page struct {
	*replica.Replica
	slots   *shard.SlotSet // nil: all
	Missing protocol.SlotRanges
}

// Has reports whether a slot is part of the page.
func (p *Page) Has(slot shard.Slot) bool { return p.slots == nil || p.slots.Has(slot) }

// ReadPage is Read for a page of a list: in the shard with the id, or in the shard that has the first of the requested
// slots. All requested slots that the shard does not have are missing.
func (h *Host) ReadPage(id uint64, of *protocol.ListSlots, consistency protocol.Consistency,
	read func(p *Page) (Reply, error),
) (Reply, error) {
	if of.Slots.Len() == 0 {
		rp, err := h.ShardToList(id)
		if err != nil {
			return nil, err
		}
		return h.Read(rp, consistency, func() (Reply, error) { return read(&Page{Replica: rp}) })
	}
	var slots shard.SlotSet
	for r := range of.Slots.All() {
		if r.First > r.Last || r.Last >= shard.Slots {
			return nil, BadRequest("slots must be ranges below " + strconv.Itoa(shard.Slots))
		}
		slots.Add(shard.Slot(r.First), shard.Slot(r.Last))
	}
	return h.ReadIn(slots.At(0), of.Generation, consistency, func(rp *replica.Replica) (Reply, error) {
		owned, _ := rp.Machine.Slots()
		return read(&Page{Replica: rp, slots: &slots, Missing: missing(&slots, &owned)})
	})
}

// missing returns the slots that are not owned.
func missing(slots, owned *shard.SlotSet) (ranges protocol.SlotRanges) {
	first, last := shard.Slot(shard.Slots), shard.Slot(shard.Slots)
	for slot := range shard.Slot(shard.Slots + 1) {
		switch lacks := slots.Has(slot) && !owned.Has(slot); {
		case lacks && first == shard.Slots:
			first, last = slot, slot
		case lacks:
			last = slot
		case first != shard.Slots:
			ranges.Append(protocol.SlotRange{First: uint64(first), Last: uint64(last)})
			first = shard.Slots
		}
	}
	return ranges
}
