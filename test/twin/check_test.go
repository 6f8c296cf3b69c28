package twin_test

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/test/twin"
)

// lowerHalf is the slots in the tests' shard: remote sessions come from the upper half.
func lowerHalf() shard.SlotSet {
	var slots shard.SlotSet
	slots.Add(0, shard.Slots/2-1)
	return slots
}

// allowed is a machine's bounds in operation.
var allowed = machine.Bounds{Work: shard.MaxWork, SessionLinks: shard.MaxLinksPerSession}

// soundState has two home sessions and a remote session; the first semaphore has two owners and two waiters,
// the second is ephemeral.
func soundState(t *testing.T) shard.State {
	t.Helper()
	slots := lowerHalf()
	tw := twin.New(machine.Options{Shard: 1, Slots: slots, Bounds: allowed})
	var names [][]byte
	for b := byte('a'); len(names) < 2; b++ {
		if name := []byte{b}; slots.Has(shard.SlotOf(1, name)) {
			names = append(names, name)
		}
	}
	home := func(i uint64) shard.SessionID { return shard.NewSessionID(5, i) }
	acquire := func(session shard.SessionID, name []byte, number, count uint64,
		flags shard.CommandFlags) shard.Command {
		return shard.Command{
			Kind: shard.CmdAcquire, Node: 1, Name: name, Session: session, Number: number, Count: count,
			Timeout: 1000, Flags: flags,
		}
	}
	remote := shard.NewSessionID(shard.Slots-1, 7)
	tw.Apply(&shard.Batch{Commands: []shard.Command{
		{Kind: shard.CmdSessionCreate, Slot: 5, Node: 1},
		{Kind: shard.CmdSessionCreate, Slot: 5, Node: 1},
		{Kind: shard.CmdSessionCreate, Slot: 5, Node: 1},
		{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: names[0], Count: 5},
		acquire(home(1), names[0], 1, 3, 0),
		acquire(home(2), names[0], 1, 1, 0),
		acquire(home(3), names[0], 1, 2, 0),
		acquire(remote, names[0], 1, 1, 0),
		acquire(remote, names[1], 2, 1, shard.FlagEphemeral),
	}}, new(shard.Effects))
	state := tw.State()
	if err := twin.Check(state, lowerHalf()); err != nil {
		t.Fatalf("the sound state: %v", err)
	}
	if len(state.Sessions) != 4 || len(state.Semaphores) != 2 || len(state.Semaphores[0].Links) != 4 {
		t.Fatalf("the sound state is another:\n%s", strings.Join(twin.StateText(&state), "\n"))
	}
	return state
}

func TestCheckFindsWhatCannotBe(t *testing.T) {
	for _, c := range []struct {
		finds string
		spoil func(s *shard.State, sem, eph *shard.SemaphoreState)
	}{
		{"session 5-1: out of order", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Sessions[0], s.Sessions[1] = s.Sessions[1], s.Sessions[0]
		}},
		{"home is false", func(s *shard.State, _, _ *shard.SemaphoreState) { s.Sessions[0].Home = false }},
		{"counter beyond the last", func(s *shard.State, _, _ *shard.SemaphoreState) { s.LastSession = 2 }},
		{"counter given out twice", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Sessions[2].ID = shard.NewSessionID(6, 2)
		}},
		{"a remote session with timeout", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Sessions[3].Timeout = 1
		}},
		{"timeout 1800001 ms", func(s *shard.State, _, _ *shard.SemaphoreState) { s.Sessions[0].Timeout = 1_800_001 }},
		{"key too long", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Sessions[0].Key = strings.Repeat("k",
				17)
		}},
		{"acknowledged 1, applied 1", func(s *shard.State, _, _ *shard.SemaphoreState) { s.Sessions[0].Acked = 1 }},
		{"answer 1 out of order", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Sessions[0].Answers = append(s.Sessions[0].Answers, s.Sessions[0].Answers...)
		}},
		{"answer 9, acknowledged 0, applied 1", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Sessions[0].Answers[0].Number = 9
		}},
		{"keeps flags", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Sessions[0].Answers[0].Flags |= shard.FlagMore
		}},
		{"says queued as 1 and is not", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Sessions[0].Answers[0].Flags = shard.FlagQueued
		}},
		{"does not say that it waits", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Sessions[2].Answers[0].Flags = 0
		}},
		{"does not say that it owns as 1", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Sessions[0].Answers[0].Order = 4
		}},
		{"out of order", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Semaphores[0], s.Semaphores[1] = s.Semaphores[1], s.Semaphores[0]
		}},
		{"name of 0 bytes", func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Name = "" }},
		{"limit 0", func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Limit = 0 }},
		{"ephemeral with limit 7", func(_ *shard.State, _, eph *shard.SemaphoreState) { eph.Limit = 7 }},
		{"ephemeral without an owner", func(_ *shard.State, _, eph *shard.SemaphoreState) { eph.Links = nil }},
		{"last is", func(s *shard.State, _, _ *shard.SemaphoreState) { s.LastRevision = 1 }},
		{"is also that of", func(_ *shard.State, sem, eph *shard.SemaphoreState) { eph.Revision = sem.Revision }},
		{"link of unknown session", func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Links[0].Session += 91 }},
		{"of node 2", func(s *shard.State, _, _ *shard.SemaphoreState) { s.Sessions[0].Node = 2 }},
		{"two links of session",
			func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Links[1].Session = sem.Links[0].Session }},
		{"order 1 out of order", func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Links[1].Order = 1 }},
		{"last is 4", func(s *shard.State, _, _ *shard.SemaphoreState) { s.LastOrder = 4 }},
		{"order 3073 is also in", func(_ *shard.State, _, eph *shard.SemaphoreState) { eph.Links[0].Order = 3073 }},
		{"waiter 2049 counts 6 of 5", func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Links[2].Count = 6 }},
		{"owners hold more than the limit", func(_ *shard.State, sem, _ *shard.SemaphoreState) {
			sem.Links[1].Count = shard.Forever
		}},
		{"timeout 86400001 ms",
			func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Links[2].Timeout = 86_400_001 }},
		{"3073 behind a waiter", func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Links[3].Owner = true }},
		{"says queued as 2049 and is not", func(_ *shard.State, sem, _ *shard.SemaphoreState) {
			sem.Links[2].Owner, sem.Links[2].Deadline = true, 0
		}},
		{"order 1 has a deadline", func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Links[0].Deadline = 7 }},
		{"waiter 2049 has no deadline",
			func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Links[2].Deadline = 0 }},
		{"head waiter 2049 fits beside 4 of 5", func(_ *shard.State, sem,
			_ *shard.SemaphoreState) {
			sem.Links[2].Count = 1
		}},
		{"waiter 2049 with timeout 0", func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Links[2].Timeout = 0 }},
		{"number 9, applied 1", func(_ *shard.State, sem, _ *shard.SemaphoreState) { sem.Links[0].Number = 9 }},
		{"number 1 is also in", func(_ *shard.State, _, eph *shard.SemaphoreState) { eph.Links[0].Number = 1 }},
		{"node 9: known and empty", func(s *shard.State, _, _ *shard.SemaphoreState) {
			s.Nodes = append(s.Nodes, shard.NodeState{ID: 9})
		}},
		{"has something and is not known", func(s *shard.State, _, _ *shard.SemaphoreState) { s.Nodes = nil }},
	} {
		t.Run(c.finds, func(t *testing.T) {
			state := soundState(t)
			c.spoil(&state, &state.Semaphores[0], &state.Semaphores[1])
			err := twin.Check(state, lowerHalf())
			if err == nil || !strings.Contains(err.Error(), c.finds) {
				t.Errorf("found %v", err)
			}
		})
	}
}

// TestCheckKnowsLimitsThatWereLowered: an owner may hold more than a lowered limit.
func TestCheckKnowsLimitsThatWereLowered(t *testing.T) {
	state := soundState(t)
	state.Semaphores[0].Limit, state.Semaphores[0].Links[3].Count = 2, 5
	if err := twin.Check(state, lowerHalf()); err != nil {
		t.Error(err)
	}
}

func TestCheckChangeFindsChangesThatAreNotReported(t *testing.T) {
	update := shard.Effect{Kind: shard.EffectChanged, Flags: shard.FlagData, Node: 1}
	for _, c := range []struct {
		finds  string
		change func(after *shard.State, effects []shard.Effect) []shard.Effect
	}{
		{"", func(_ *shard.State, effects []shard.Effect) []shard.Effect { return effects }},
		{"without Changed", func(after *shard.State, _ []shard.Effect) []shard.Effect {
			after.LastRevision--
			return nil
		}},
		{"looks different without Changed", func(after *shard.State, _ []shard.Effect) []shard.Effect {
			after.LastRevision--
			after.Semaphores[0].Revision = 3 // as before
			return nil
		}},
		{"looks the same after Changed", func(after *shard.State, effects []shard.Effect) []shard.Effect {
			after.Semaphores[0].Data = ""
			return effects
		}},
		{"has revision", func(_ *shard.State, effects []shard.Effect) []shard.Effect {
			effects[0].Revision++
			return effects
		}},
		{"last revision is", func(after *shard.State, effects []shard.Effect) []shard.Effect {
			after.LastRevision++
			return effects
		}},
		{"Changed said", func(after *shard.State, effects []shard.Effect) []shard.Effect {
			after.Semaphores[0].Revision--
			return effects
		}},
		{"whether it is gone", func(_ *shard.State, effects []shard.Effect) []shard.Effect {
			effects[0].Flags |= shard.FlagDeleted
			return effects
		}},
		{"which does not exist", func(after *shard.State, effects []shard.Effect) []shard.Effect {
			after.LastRevision++
			other := effects[0]
			other.Name, other.Revision = "never", effects[0].Revision+1
			return append(effects, other)
		}},
	} {
		t.Run(c.finds, func(t *testing.T) {
			before, after := soundState(t), soundState(t)
			// Effects of a data update on the first semaphore.
			after.LastRevision++
			after.Semaphores[0].Data, after.Semaphores[0].Revision = "x", after.LastRevision
			e := update
			e.Name, e.Revision = after.Semaphores[0].Name, after.LastRevision
			err := twin.CheckChange(&before, &after, c.change(&after, []shard.Effect{e}))
			if c.finds == "" && err != nil || c.finds != "" && (err == nil || !strings.Contains(err.Error(), c.finds)) {
				t.Errorf("found %v", err)
			}
		})
	}
}
