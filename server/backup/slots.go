package backup

import (
	"cmp"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/backupfile"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/slots"
)

// claim is one shard's record of a slot. The shard's state contains the slot's content.
type claim struct {
	shard meta.ShardID
	slots.Slot
}

// above reports whether a claim is later than another claim for the same slot. A higher generation is later. Under
// equal generations, the claim of the shard that has opened the slot is later than the claim of the offering shard.
func (c claim) above(other claim) bool {
	if by := cmp.Compare(c.Generation, other.Generation); by != 0 {
		return by > 0
	}
	return c.State == slots.Owned && other.State != slots.Owned
}

// completeSlots gives each moved slot one owner. Two shards' states may be from before and after a move. If both states
// have the slot, the shard with the lower generation loses the slot. If neither has the slot, the shard with the last
// offer takes the slot back.
func (s *States) completeSlots() error {
	latest := make(map[shard.Slot]claim)
	for _, id := range s.Shards() {
		for _, x := range s.Data[id].ChangedSlots(nil) {
			c := claim{id, x}
			if x.State == slots.Owned || x.Content != nil {
				if before, is := latest[x.Number]; !is || c.above(before) {
					latest[x.Number] = c
				}
			}
		}
	}
	for slot, c := range latest {
		m := s.Data[c.shard]
		back := shard.Command{Kind: shard.CmdSlotCancel, Slot: slot, Count: c.Generation}
		if c.State == slots.Transferred {
			back = shard.Command{Kind: shard.CmdSlotReturn, Slot: slot, Count: c.Generation, Number: c.Generation + 1}
		}
		if c.State != slots.Owned {
			if err := apply(m, back); err != nil {
				return err
			}
		}
		for _, id := range s.Shards() {
			other := s.Data[id]
			if owned, _ := other.Owns(slot); !owned || id == c.shard {
				continue
			}
			if err := apply(other, shard.Command{Kind: shard.CmdSlotSupersede, Slot: slot,
				Count: m.Slot(slot).Generation, Number: uint64(c.shard)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply applies a command about a slot, and fails if the command has no effect.
func apply(m *machine.Machine, c shard.Command) error {
	var effects shard.Effects
	c.Level = m.Level()
	m.Apply(&shard.Batch{Stamp: clock.Stamp{Term: m.Term()}, Commands: []shard.Command{c}}, &effects)
	for i := range effects.List {
		if e := &effects.List[i]; e.Kind == shard.EffectResult && e.Status != protocol.StatusSuccess {
			return fmt.Errorf("slot %d: %v: %s", c.Slot, e.Status, e.Body)
		}
	}
	return nil
}

// checkSlots returns an error unless exactly one shard's state owns each slot, and no other state knows a later owner.
func (s *States) checkSlots() error {
	for slot := range shard.Slot(shard.Slots) {
		owners, latest, heard := 0, uint64(0), uint64(0)
		for _, m := range s.Data {
			x := m.Slot(slot)
			if heard = max(heard, x.Generation); x.State == slots.Owned {
				owners, latest = owners+1, x.Generation
			}
		}
		if owners != 1 || latest < heard {
			return fmt.Errorf("%w: slot %d moved while the backup was saved: %d shards have it, under generation %d "+
				"of %d; take another backup", backupfile.ErrIncomplete, slot, owners, latest, heard)
		}
	}
	return nil
}
