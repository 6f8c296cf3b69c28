package hosts

import (
	"cmp"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
	table "github.com/signalbox/signalbox/shard/slots"
)

// SlotOrder is an order to move a slot to another shard, with the attempt in progress. As with hosts, a record is
// replaced and never modified.
type SlotOrder struct {
	Slot shard.Slot
	// To is the shard that is to become the owner, 0 in a cancelled order. The record of a cancelled order stays until
	// the attempt in progress has ended.
	To ShardID
	// Balance is set in a rebalancing order, which the first attempt creates. All other orders come from operators.
	Balance bool
	// Large allows a slot above the usual size limit.
	Large   bool
	By, Why string
	Since   uint64
	// Into is the target of the attempt in progress, 0 for none. The next attempt begins only after the outcome of this
	// attempt is on record.
	Into ShardID
	// Failures counts the failed attempts, after which the owner kept the slot. Text is the reason for the last
	// failure. No attempt begins before NotBefore.
	Failures  uint64
	Text      string
	NotBefore uint64
}

// Slots returns the slot table. Callers must not modify it.
func (r *Records) Slots() *table.Table { return r.slots }

// SlotOrders returns the orders by slot. Callers must not modify the list.
func (r *Records) SlotOrders() []*SlotOrder { return r.orders }

// SlotOrder returns the order for a slot, or nil.
func (r *Records) SlotOrder(slot shard.Slot) *SlotOrder {
	if i, found := r.orderIndex(slot); found {
		return r.orders[i]
	}
	return nil
}

// SlotOwner returns the data shard that the slot table names as the owner of a slot.
func (r *Records) SlotOwner(slot shard.Slot) ShardID { return ShardID(r.slots.Of(slot).Shard) }

func (r *Records) orderIndex(slot shard.Slot) (int, bool) {
	return slices.BinarySearchFunc(r.orders, slot, func(o *SlotOrder, slot shard.Slot) int {
		return cmp.Compare(o.Slot, slot)
	})
}

// putOrder adds or replaces an order. A completed or cancelled order without an attempt in progress is removed.
func (r *Records) putOrder(o *SlotOrder) {
	r.revision++
	i, found := r.orderIndex(o.Slot)
	over := o.Into == 0 && (o.To == 0 || o.To == r.SlotOwner(o.Slot))
	switch {
	case found && over:
		r.orders = slices.Delete(r.orders, i, i+1)
	case found:
		r.orders[i] = o
	case !over:
		r.orders = slices.Insert(r.orders, i, o)
	}
}

func badSlot(slot shard.Slot) Answer {
	return refuse(protocol.StatusBadRequest, "there is no slot %d; slots have the numbers 0 to %d", slot, shard.Slots-1)
}

// MoveSlot orders a slot move to a data shard. A repeated order after a failed attempt ends the delay.
func (r *Records) MoveSlot(at At, slot shard.Slot, to ShardID, large bool) Answer {
	switch {
	case slot >= shard.Slots:
		return badSlot(slot)
	case to == Meta || r.Shard(to) == nil:
		return refuse(protocol.StatusNotFound, "there is no data shard %d", to)
	case r.Shard(to).Phase != ShardServing:
		return forbid("shard %d takes no slots: the shard is %s", to, r.Shard(to).Phase)
	}
	o, from := r.SlotOrder(slot), r.SlotOwner(slot)
	next := SlotOrder{Slot: slot, To: to, Large: large, By: codec.Cut(at.By, MaxText), Why: codec.Cut(at.Why, MaxText),
		Since: clock.Moment(at.Now)}
	switch {
	case o == nil && from == to, o != nil && !o.Balance && o.To == to && o.Large == large && o.Failures == 0:
		return Answer{Existed: true}
	case o != nil && o.Into == 0 && from == to:
		return r.CancelMove(at, slot)
	case o != nil:
		next.Into = o.Into
	}
	r.putOrder(&next)
	r.note(at, EventSlot, nil, "slot %d is to move from shard %d to shard %d", slot, from, to)
	return Answer{}
}

// CancelMove drops the order to move a slot. An attempt in progress still gets its outcome: if the target has opened
// the slot, the slot stays in the target, else in the old shard.
func (r *Records) CancelMove(at At, slot shard.Slot) Answer {
	if slot >= shard.Slots {
		return badSlot(slot)
	}
	o := r.SlotOrder(slot)
	if o == nil || o.To == 0 {
		return Answer{Existed: true}
	}
	next := *o
	next.To = 0
	r.putOrder(&next)
	r.note(at, EventSlot, nil, "slot %d: the order to move to shard %d is cancelled", slot, o.To)
	return Answer{}
}

// MoveGeneration returns the generation for a step that moves a slot between two shards: the generation of the attempt
// in progress, else the next generation. MoveGeneration returns 0 if neither an order nor rebalancing requires the
// move.
func (r *Records) MoveGeneration(slot shard.Slot, from, into ShardID) uint64 {
	if slot >= shard.Slots || from == into || from != r.SlotOwner(slot) {
		return 0
	}
	switch o := r.SlotOrder(slot); {
	case o != nil && o.Into == into:
		return r.slots.Pending(slot)
	case o != nil && o.Into != 0:
		return 0
	case o != nil && !o.Balance && o.To == into, (o == nil || o.Balance) && r.evens(from, into):
		return r.slots.Of(slot).Last + 1
	}
	return 0
}

// BeginMove issues the generation that MoveGeneration has returned, unless the attempt is in progress already.
func (r *Records) BeginMove(at At, slot shard.Slot, into ShardID) {
	o := r.SlotOrder(slot)
	if r.MoveGeneration(slot, r.SlotOwner(slot), into) == 0 || o != nil && o.Into != 0 {
		return
	}
	if o == nil {
		o = &SlotOrder{Slot: slot, Balance: true, Since: clock.Moment(at.Now)}
	}
	next, t := *o, *r.slots
	next.To, next.Into = into, into
	t.Attempt(slot)
	r.slots = &t
	r.putOrder(&next)
}

// AssignSlot records the outcome of the attempt in progress: either the target owns the slot under the attempt's
// generation, or the old owner keeps the slot under the next generation, for the reason why. A late or repeated outcome
// changes nothing.
func (r *Records) AssignSlot(at At, slot shard.Slot, owner table.Owner, why string) Answer {
	if slot >= shard.Slots {
		return badSlot(slot)
	}
	o, e, g := r.SlotOrder(slot), r.slots.Of(slot), r.slots.Pending(slot)
	switch {
	case owner.Generation <= e.Generation:
		return Answer{Existed: true}
	case g == 0 || owner != table.Owner{Shard: uint64(o.Into), Generation: g} &&
		owner != table.Owner{Shard: e.Shard, Generation: g + 1}:
		return refuse(protocol.StatusBadRequest, "generation %d of slot %d was not issued to shard %d",
			owner.Generation, slot, owner.Shard)
	}
	t := *r.slots
	if _, err := t.Assign([]table.Assignment{{Slot: slot, Owner: owner}}); err != nil {
		return badRequest(err)
	}
	r.slots = &t
	next := *o
	next.Into = 0
	if owner.Shard == uint64(o.Into) {
		r.note(at, EventSlot, nil, "slot %d moved from shard %d to shard %d", slot, e.Shard, owner.Shard)
		r.rebalance.Due = r.rebalance.Due || r.Shard(o.Into).Phase != ShardServing // the removal was ordered meanwhile
	} else {
		next.Failures++
		next.Text = codec.Cut(why, MaxText)
		if next.Failures >= SlotAttempts {
			next.NotBefore = clock.Moment(at.Now) + SlotDelayMillis
		}
		r.note(at, EventSlot, nil, "slot %d stays in shard %d: %s", slot, e.Shard, why)
	}
	r.putOrder(&next)
	r.endBalance()
	return Answer{}
}

func (o *SlotOrder) code(c *codec.Coder) {
	codec.Small(c, &o.Slot)
	c.Numbers((*uint64)(&o.To), (*uint64)(&o.Into), &o.Since, &o.Failures, &o.NotBefore)
	c.Flags(&o.Large, &o.Balance)
	c.Text(&o.By, MaxText)
	c.Text(&o.Why, MaxText)
	c.Text(&o.Text, MaxText)
}

// checkSlots checks that data shards own all slots, and that each attempt in the slot table has an order, and the
// reverse.
func (r *Records) checkSlots(c *codec.Coder) {
	data := func(id ShardID) bool { return id != Meta && r.Shard(id) != nil }
	r.slots.Ranges(func(first, _ shard.Slot, o table.Owner) {
		c.Must(data(ShardID(o.Shard)) || len(r.shards) == 1 && o == table.Owner{},
			"slot %d belongs to shard %d, which is not a data shard", first, o.Shard)
	})
	open := 0
	for i, o := range r.orders {
		c.Must(o.Slot < shard.Slots && (i == 0 || o.Slot > r.orders[i-1].Slot), "the order for slot %d is out of order",
			o.Slot)
		if !c.Sound() {
			return
		}
		from := r.SlotOwner(o.Slot)
		c.Must(o.To == 0 || data(o.To), "slot %d is to move to shard %d, which is not a data shard", o.Slot, o.To)
		c.Must(o.Into == 0 || data(o.Into) && o.Into != from, "slot %d moves into shard %d", o.Slot, o.Into)
		c.Must(o.Into != 0 || o.To != 0 && o.To != from, "the order for slot %d is over", o.Slot)
		c.Must((o.Into != 0) == (r.slots.Pending(o.Slot) != 0), "slot %d has half an attempt", o.Slot)
		open += count(o.Into != 0)
	}
	for slot := range shard.Slot(shard.Slots) {
		open -= count(r.slots.Pending(slot) != 0)
	}
	c.Must(open == 0, "an attempt to move a slot has no order")
}
