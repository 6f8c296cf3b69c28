package machine

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

func bytesReader(b []byte) io.Reader { return bytes.NewReader(b) }

// halves returns two machines that share the slots, and a name in each.
func halves() (a, b *Machine, nameA, nameB []byte) {
	var lower, upper shard.SlotSet
	lower.Add(0, shard.Slots/2-1)
	upper.Add(shard.Slots/2, shard.Slots-1)
	a, b = New(TestKinds, Options{Slots: lower}), New(TestKinds, Options{Slots: upper})
	for i := 0; nameA == nil || nameB == nil; i++ {
		name := fmt.Appendf(nil, "n%d", i)
		if shard.SlotOf(1, name) < shard.Slots/2 {
			nameA = name
		} else {
			nameB = name
		}
	}
	return a, b, nameA, nameB
}

// laggard is a replica delayed by a test: it answers from its old state.
type laggard struct {
	m       *Machine
	pending []*shard.Batch
	out     shard.Effects
}

func (l *laggard) Liveness(id shard.SessionID) shard.Liveness { return l.m.Liveness(id) }

func (l *laggard) catchUp(n int) {
	for ; n > 0 && len(l.pending) > 0; n-- {
		l.out.Reset()
		l.m.Apply(l.pending[0], &l.out)
		l.pending = l.pending[1:]
	}
}

// TestDeathsReachTheOtherShardAndTheLivingLoseNothing: sessions live and die in one machine and hold locks in another.
// Directories lag; forgets are lost, duplicated, delayed and reordered, and so are acquires of dead sessions. A live
// session must never lose anything, and finally nothing held by dead sessions may remain.
func TestDeathsReachTheOtherShardAndTheLivingLoseNothing(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		home, away, _, name := halves()
		directory := &laggard{m: New(TestKinds, Options{Slots: home.core.slots.Owned()})}
		var out shard.Effects
		atHome := func(c shard.Command) shard.Effect {
			out.Reset()
			b := &shard.Batch{Commands: []shard.Command{c}}
			home.Apply(b, &out)
			directory.pending = append(directory.pending, b)
			for _, e := range out.List {
				if e.Kind == shard.EffectResult {
					return e
				}
			}
			panic("no result")
		}
		alive := map[shard.SessionID]bool{}
		numbers := map[shard.SessionID]uint64{}
		var ids []shard.SessionID
		var late []*shard.Batch // in flight to the other shard
		deliver := func() {
			if len(late) == 0 {
				return
			}
			i := rng.IntN(len(late))
			out.Reset()
			away.Apply(late[i], &out)
			for _, e := range out.List {
				if e.Kind == shard.EffectSessionEnded && alive[e.Session] {
					t.Fatalf("seed %d: session %v lives and was forgotten", seed, e.Session)
				}
			}
			if rng.IntN(4) > 0 { // otherwise it is repeated
				late = append(late[:i], late[i+1:]...)
			}
		}
		for range 600 {
			switch rng.IntN(6) {
			case 0:
				e := atHome(shard.Command{Kind: shard.CmdSessionCreate, Slot: shard.Slot(rng.IntN(shard.Slots / 2)),
					Node: 1, Timeout: 1000})
				alive[e.Session] = true
				ids = append(ids, e.Session)
			case 1, 2:
				if len(ids) > 0 {
					id := ids[rng.IntN(len(ids))] // dead ones too: their last words are under way
					numbers[id]++
					late = append(late, &shard.Batch{Commands: []shard.Command{{
						Kind: shard.CmdAcquire, Session: id, Number: numbers[id], Node: 1, Count: 1,
						Timeout: shard.Forever,
						Name:    fmt.Appendf(nil, "%s", name), Flags: shard.FlagEphemeral,
					}}})
				}
			case 3:
				if len(ids) > 0 && rng.IntN(2) == 0 {
					id := ids[rng.IntN(len(ids))]
					if alive[id] {
						delete(alive, id)
						atHome(shard.Command{Kind: shard.CmdSessionEnd, Session: id})
					}
				}
			case 4:
				directory.catchUp(rng.IntN(3))
				dead, _, _ := away.DeadRemoteSessions(0, directory, nil)
				if len(dead) > 0 && rng.IntN(3) > 0 {
					late = append(late,
						&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSessionsForget, Sessions: dead}}})
				}
			default:
				deliver()
			}
		}
		for len(late) > 0 {
			deliver()
		}
		// Level-triggered: one round with an up-to-date directory is enough.
		directory.catchUp(1 << 30)
		dead, _, over := away.DeadRemoteSessions(0, directory, nil)
		if !over {
			t.Fatal("more remote sessions than one page")
		}
		out.Reset()
		away.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSessionsForget, Sessions: dead}}}, &out)
		for _, s := range away.State().Sessions {
			if !alive[s.ID] {
				t.Fatalf("seed %d: session %v is dead and still here", seed, s.ID)
			}
		}
		for _, s := range away.State().Semaphores {
			for _, l := range s.Links {
				if !alive[l.Session] {
					t.Fatalf("seed %d: session %v is dead and has a part in %q", seed, l.Session, s.Name)
				}
			}
		}
	}
}

func TestADirectoryThatLagsCallsNoSessionDead(t *testing.T) {
	home, away, _, name := halves()
	behind := New(TestKinds, Options{Slots: home.core.slots.Owned()})
	var out shard.Effects
	home.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSessionCreate, Node: 1, Slot: 3}}}, &out)
	id := out.List[1].Session
	if behind.Liveness(id) != shard.Unknown || home.Liveness(id) != shard.Alive || away.Liveness(id) != shard.Unknown {
		t.Fatal(behind.Liveness(id), home.Liveness(id), away.Liveness(id))
	}
	out.Reset()
	away.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdAcquire, Session: id, Number: 1, Node: 1,
		Name: name, Count: 1, Flags: shard.FlagEphemeral}}}, &out)
	if dead, _, _ := away.DeadRemoteSessions(0, behind, nil); len(dead) != 0 {
		t.Fatal(dead)
	}
	home.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSessionEnd, Session: id}}}, &out)
	if dead, _, _ := away.DeadRemoteSessions(0, home, nil); len(dead) != 1 || dead[0] != id {
		t.Fatal(dead)
	}
}

func TestTheHomeShardDoesNotForgetAndOthersDoNotExpire(t *testing.T) {
	home, away, _, name := halves()
	var out shard.Effects
	home.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSessionCreate, Node: 1, Slot: 3}}}, &out)
	id := out.List[1].Session
	out.Reset()
	away.Apply(&shard.Batch{Commands: []shard.Command{
		{Kind: shard.CmdAcquire, Session: id, Number: 1, Node: 1, Name: name, Count: 1, Flags: shard.FlagEphemeral},
		{Kind: shard.CmdSessionsExpire, Sessions: []shard.SessionID{id}},
		{Kind: shard.CmdSessionEnd, Session: id},
	}}, &out)
	home.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSessionsForget,
		Sessions: []shard.SessionID{id}}}}, &out)
	if _, known := home.Session(id); !known {
		t.Fatal("the home shard forgot a session because another one was told to")
	}
	if _, known := away.Session(id); !known {
		t.Fatal("a shard that is not its home expired a session")
	}
	for _, e := range out.List {
		if e.Kind == shard.EffectResult && e.Op == 2 && e.Status != protocol.StatusMoved &&
			e.Status != protocol.StatusSuccess {
			t.Fatal(e)
		}
	}
}
