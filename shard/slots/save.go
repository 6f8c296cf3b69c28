package slots

import (
	"errors"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// formNumber begins saved bytes: slot snapshots and a shard's slots.
const formNumber = 1

// Save appends the encoded slots, without slot snapshots: see Contents. Equal slots have equal bytes.
func (s *Slots) Save(dst []byte) []byte { return codec.Save(dst, s.code) }

// Load replaces the slots by saved ones. SetContents must follow.
func (s *Slots) Load(src []byte) error {
	loaded := Slots{shard: s.shard}
	if err := codec.Load(src, formNumber, "slots: load", loaded.code, loaded.check); err != nil {
		return err
	}
	*s = loaded
	return nil
}

// Contents returns the sealed and transferred slots' snapshots, in slot order.
func (s *Slots) Contents() (list []*Snapshot) {
	for i := range s.slots {
		if c := s.slots[i].Content; c != nil {
			list = append(list, c)
		}
	}
	return list
}

// SetContents adds the slot snapshots to loaded slots.
func (s *Slots) SetContents(list []*Snapshot) error {
	for i := range s.slots {
		x := &s.slots[i]
		if x.Content == nil {
			continue
		}
		if len(list) == 0 || list[0].Digest != x.Content.Digest || list[0].check() != nil {
			return errors.New("slots: a slot snapshot is missing or damaged")
		}
		x.Content, list = list[0], list[1:]
	}
	if len(list) > 0 {
		return errors.New("slots: a slot snapshot belongs to no slot")
	}
	return nil
}

func (s *Slots) code(c *codec.Coder) {
	c.Form(formNumber)
	c.Number(&s.changes)
	codeSet(c, &s.owned)
	codec.List(c, &s.slots, shard.Slots, func(x *Slot) { x.code(c) })
}

// codeSet encodes or decodes a slot set: for each run of neighbors the gap before the run, and its length.
func codeSet(c *codec.Coder, set *shard.SlotSet) {
	type run struct{ gap, length uint64 }
	var runs []run
	if !c.Reading() {
		for at := 0; at < shard.Slots; {
			var r run
			for ; at < shard.Slots && !set.Has(shard.Slot(at)); at++ {
				r.gap++
			}
			for ; at < shard.Slots && set.Has(shard.Slot(at)); at++ {
				r.length++
			}
			if r.length > 0 {
				runs = append(runs, r)
			}
		}
	}
	codec.List(c, &runs, shard.Slots/2, func(r *run) { c.Numbers(&r.gap, &r.length) })
	if !c.Reading() {
		return
	}
	at := uint64(0)
	for i, r := range runs {
		c.Must(r.gap < shard.Slots && r.length <= shard.Slots && r.length > 0 && (i == 0 || r.gap > 0),
			"a run of slots is none")
		c.Must(at+r.gap+r.length <= shard.Slots, "a run of slots ends behind the last slot")
		if !c.Sound() {
			return
		}
		set.Add(shard.Slot(at+r.gap), shard.Slot(at+r.gap+r.length-1))
		at += r.gap + r.length
	}
}

func (slot *Slot) code(c *codec.Coder) {
	codec.Small(c, &slot.Number)
	codec.Enum(c, &slot.State, states)
	c.Numbers(&slot.Generation, &slot.To, &slot.Seen, &slot.Hint.Shard, &slot.Hint.Generation, &slot.Since)
	c.Text(&slot.Why, MaxWhy)
	if slot.State == Sealed || slot.State == Transferred {
		if c.Reading() {
			slot.Content = &Snapshot{}
		}
		c.Uint64(&slot.Content.Digest)
	}
}

// check refuses slots that commands could not have produced.
func (s *Slots) check(c *codec.Coder) {
	for i := range s.slots {
		x := &s.slots[i]
		c.Must(x.Number < shard.Slots, "there is no slot %d", x.Number)
		c.Must(i == 0 || s.slots[i-1].Number < x.Number, "the slots are in another order")
		c.Must((x.State == Owned) == s.owned.Has(x.Number), "slot %d is owned, or is not", x.Number)
		c.Must(x.Seen >= x.Generation, "slot %d has a generation that the shard has not heard of", x.Number)
		c.Must(x.State != None || x.Generation == 0, "slot %d is not here and has a generation", x.Number)
		c.Must((x.State == None || x.State == Owned) == (x.To == 0), "slot %d leads nowhere, or is offered", x.Number)
	}
}
