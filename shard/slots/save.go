package slots

import "github.com/signalbox/signalbox/shard/internal/codec"

// Save appends the slots. Equal slots have equal bytes. The level is not saved: a snapshot has its shard's level.
func (s *Slots) Save(dst []byte) []byte {
	return codec.Save(dst, s.code)
}

// Load replaces the slots by saved ones.
func (s *Slots) Load(src []byte) error {
	loaded := Slots{shard: s.shard, level: s.level}
	if err := codec.Load(src, formNumber, "slots: load", loaded.code, loaded.check); err != nil {
		return err
	}
	*s = loaded
	return nil
}

func (s *Slots) code(c *codec.Coder) {
	c.Form(formNumber)
	codec.List(c, &s.slots, Count, func(x *Slot) { x.code(c) })
}

func (slot *Slot) code(c *codec.Coder) {
	codec.Small(c, &slot.Number)
	codec.Enum(c, &slot.State, states)
	c.Numbers(&slot.Generation, &slot.To, &slot.Seen, &slot.Hint.Shard, &slot.Hint.Generation, &slot.Since)
	c.Text(&slot.Why, MaxWhy)
	if slot.State == Sealed || slot.State == Given {
		if c.Reading() {
			slot.Parcel = &Parcel{}
		}
		slot.Parcel.code(c)
	}
}

// check refuses slots that commands could not have produced.
func (s *Slots) check(c *codec.Coder) {
	for i := range s.slots {
		x := &s.slots[i]
		c.Must(x.Number < Count, "there is no slot %d", x.Number)
		c.Must(i == 0 || s.slots[i-1].Number < x.Number, "the slots are in another order")
		c.Must(x.Seen >= x.Generation, "slot %d has a generation that the shard has not heard of", x.Number)
		c.Must(x.State != None || x.Generation == 0, "slot %d is not here and has a generation", x.Number)
		c.Must((x.State == None || x.State == Owned) == (x.To == 0), "slot %d leads nowhere, or is offered", x.Number)
		if x.Parcel != nil {
			err := x.Parcel.check()
			c.Must(err == nil, "slot %d: %v", x.Number, err)
		}
	}
}
