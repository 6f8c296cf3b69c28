package backup

import (
	"bytes"
	"errors"
	"testing"

	"github.com/signalbox/signalbox/protocol/backupfile"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/kinds"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/slots"
)

// copyOf copies a machine.
func copyOf(t *testing.T, m *machine.Machine) *machine.Machine {
	t.Helper()
	var file bytes.Buffer
	sn, err := m.PrepareSnapshot()
	if err == nil {
		err = sn.Save(&file, nil)
		sn.Discard()
	}
	copied := machine.New(kinds.All(), machine.Options{})
	if err == nil {
		err = copied.Restore(&file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// must applies a command about a slot.
func must(t *testing.T, m *machine.Machine, c shard.Command) {
	t.Helper()
	if err := apply(m, c); err != nil {
		t.Fatal(err)
	}
}

// named counts the semaphores with a name.
func named(name string, of ...*machine.Machine) (n int) {
	for _, m := range of {
		for _, sem := range m.State().Semaphores {
			if sem.Name == name {
				n++
			}
		}
	}
	return n
}

// TestASlotThatMovesDuringABackupIsInItOnce: the sections are from any two moments during a move. The same holds
// for two hosts that survive a loss, as far as there is any content.
func TestASlotThatMovesDuringABackupIsInItOnce(t *testing.T) {
	of := func(m *machine.Machine) *machine.Machine { return copyOf(t, m) }
	begun := cluster(t)
	source, target := begun.Data[1], begun.Data[2]
	name := source.State().Semaphores[0].Name
	slot := shard.SlotOf(1, []byte(name))
	sources, targets := []*machine.Machine{of(source)}, []*machine.Machine{of(target)}
	step := func(m *machine.Machine, c shard.Command) {
		t.Helper()
		c.Slot, c.Count = slot, 1
		must(t, m, c)
	}
	step(source, shard.Command{Kind: shard.CmdSlotSeal, Number: 2})
	sources = append(sources, of(source))
	step(target, shard.Command{Kind: shard.CmdSlotOpen, Number: 1, Body: source.Slot(slot).Content.Append(nil)})
	targets = append(targets, of(target))
	step(source, shard.Command{Kind: shard.CmdSlotRelease})
	sources = append(sources, of(source))
	step(source, shard.Command{Kind: shard.CmdSlotRelease, Flags: shard.FlagForget})
	sources = append(sources, of(source))

	for i, from := range sources {
		for j, to := range targets {
			s := cluster(t)
			s.Data[1], s.Data[2] = of(from), of(to)
			lost := from.Slot(slot).State == slots.Released && j == 0
			survived := cluster(t)
			survived.Data[1], survived.Data[2] = of(from), of(to)
			made, err := survived.Regenerate(meta.Regeneration{By: "test", Cluster: "new", First: hosts.InitialMember{
				Name: "b", Addresses: hosts.Addresses{Raft: "b:1", Client: "b:2"}}})
			if err != nil {
				t.Fatal(err)
			}
			if have := named(name, made.Data...); have != 1 && !lost || lost && have != 0 {
				t.Errorf("hosts %d and %d: the semaphore is there %d times", i, j, have)
			}
			err = s.check()
			if lost {
				if !errors.Is(err, backupfile.ErrIncomplete) {
					t.Errorf("a slot that no section has: %v", err)
				}
				continue
			}
			if err != nil {
				t.Errorf("sections %d and %d: %v", i, j, err)
				continue
			}
			have := named(name, s.Data[1], s.Data[2])
			if have != 1 {
				t.Errorf("sections %d and %d: the semaphore is there %d times", i, j, have)
			}
		}
	}
}

// TestABackupWithOnlyTheOldContentOfASlotDoesNotLoad: shard 1 has given the slot to shard 2, and keeps the content.
// Shard 2 has given the slot on, to a shard whose section is from before.
func TestABackupWithOnlyTheOldContentOfASlotDoesNotLoad(t *testing.T) {
	s := cluster(t)
	slot := shard.SlotOf(1, []byte(s.Data[1].State().Semaphores[0].Name))
	must(t, s.Data[1], shard.Command{Kind: shard.CmdSlotSeal, Slot: slot, Count: 1, Number: 2})
	open := shard.Command{Kind: shard.CmdSlotOpen, Slot: slot, Count: 1, Number: 1,
		Body: s.Data[1].Slot(slot).Content.Append(nil)}
	must(t, s.Data[2], open)
	must(t, s.Data[1], shard.Command{Kind: shard.CmdSlotRelease, Slot: slot, Count: 1})
	must(t, s.Data[2], shard.Command{Kind: shard.CmdSlotSeal, Slot: slot, Count: 3, Number: 3})
	if err := copiedStates(t, s).check(); err != nil {
		t.Errorf("with the content of shard 2: %v", err)
	}
	must(t, s.Data[2], shard.Command{Kind: shard.CmdSlotRelease, Slot: slot, Count: 3})
	must(t, s.Data[2], shard.Command{Kind: shard.CmdSlotRelease, Slot: slot, Count: 3, Flags: shard.FlagForget})
	if err := s.check(); !errors.Is(err, backupfile.ErrIncomplete) {
		t.Errorf("with the content of shard 1: %v", err)
	}
}

func copiedStates(t *testing.T, s *States) *States {
	t.Helper()
	c := *s
	c.Data = map[meta.ShardID]*machine.Machine{1: copyOf(t, s.Data[1]), 2: copyOf(t, s.Data[2])}
	return &c
}
