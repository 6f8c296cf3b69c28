package machinetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// MoveAll moves everything a machine has into an empty machine of another shard, slot by slot. The other shard's time
// is a millisecond earlier, so that all timestamps stay as they are.
func MoveAll(from, to Machine) error {
	had := from.State()
	if had.Now == 0 || len(had.Pending) > 0 {
		return fmt.Errorf("a machine at %d with %d pending entries cannot move", had.Now, len(had.Pending))
	}
	apply := func(m Machine, elapsed uint64, c shard.Command) shard.Effect {
		s, out := m.State(), shard.Effects{}
		c.Level = s.Level
		b := shard.Batch{Commands: []shard.Command{c}}
		if b.Stamp.Term = max(s.Term, c.Term); b.Stamp.Term > 0 {
			b.Stamp.Elapsed = elapsed
		}
		m.Apply(&b, &out)
		return out.List[0]
	}
	apply(to, 0, shard.Command{Kind: shard.CmdLevel, Count: uint64(had.Level)})
	apply(to, 0, shard.Command{Kind: shard.CmdLead, Term: 1})
	used := map[shard.Slot]bool{0: true} // at least one, which takes the counters along
	for _, s := range had.Sessions {
		used[s.ID.Slot()] = true
		for _, slot := range s.Slots {
			used[slot] = true
		}
	}
	for _, o := range had.Objects {
		used[shard.SlotOf(o.Node, []byte(o.Name))] = true
	}
	for _, sem := range had.Semaphores {
		used[shard.SlotOf(sem.Node, []byte(sem.Name))] = true
	}
	const other = 1000
	order := slices.Sorted(maps.Keys(used))
	for _, slot := range order {
		at := from.Slot(slot).Seen + 1
		apply(to, had.Now-1, shard.Command{Kind: shard.CmdSlotSupersede, Slot: slot, Count: at, Number: other})
	}
	for _, slot := range order {
		at := from.Slot(slot).Seen + 1
		seal := shard.Command{Kind: shard.CmdSlotSeal, Slot: slot, Count: at + 1, Number: other, Flags: shard.FlagForce}
		if e := apply(from, had.Now-had.TimeBase, seal); e.Status != protocol.StatusSuccess {
			return fmt.Errorf("slot %d is not sealed: %v %s", slot, e.Status, e.Body)
		}
		body := from.Slot(slot).Content.Append(nil)
		open := shard.Command{Kind: shard.CmdSlotOpen, Slot: slot, Count: at + 1, Number: other, Body: body}
		if e := apply(to, had.Now-1, open); e.Status != protocol.StatusSuccess {
			return fmt.Errorf("slot %d is not opened: %v %s", slot, e.Status, e.Body)
		}
	}
	apply(to, had.Now, shard.Command{Kind: shard.CmdContinue})
	for _, n := range had.Nodes {
		apply(to, had.Now, shard.Command{
			Kind: shard.CmdNodeLimits, Node: n.ID, Count: n.ObjectLimit, Bytes: n.ByteLimit,
		})
	}
	if err := CheckLeaks(from); err != nil {
		return err
	}
	if left := from.State(); len(left.Sessions)+len(left.Objects)+len(left.Semaphores) > 0 || from.Usage(0).Bytes > 0 {
		return fmt.Errorf("%d sessions, %d objects, %d semaphores and %d bytes are left behind", len(left.Sessions),
			len(left.Objects), len(left.Semaphores), from.Usage(0).Bytes)
	}
	return nil
}
