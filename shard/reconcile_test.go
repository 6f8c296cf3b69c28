package shard

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

func bytesReader(b []byte) io.Reader { return bytes.NewReader(b) }

// halves returns two machines that share the slots between them, and a name that lives in each.
func halves() (a, b *Machine, nameA, nameB []byte) {
	var lower, upper SlotSet
	lower.Add(0, Slots/2-1)
	upper.Add(Slots/2, Slots-1)
	a, b = New(Options{Slots: lower}), New(Options{Slots: upper})
	for i := 0; nameA == nil || nameB == nil; i++ {
		name := fmt.Appendf(nil, "n%d", i)
		if SlotOf(1, name) < Slots/2 {
			nameA = name
		} else {
			nameB = name
		}
	}
	return a, b, nameA, nameB
}

// laggard is a replica that a test holds back: it answers from the state that it stands at.
type laggard struct {
	m       *Machine
	pending []*Batch
	out     Effects
}

func (l *laggard) Liveness(id SessionID) Liveness { return l.m.Liveness(id) }

func (l *laggard) catchUp(n int) {
	for ; n > 0 && len(l.pending) > 0; n-- {
		l.out.Reset()
		l.m.Apply(l.pending[0], &l.out)
		l.pending = l.pending[1:]
	}
}

// TestDeathsReachTheOtherShardAndTheLivingLoseNothing: sessions live and die in one machine and lock things in another.
// Directories lag, forgets are lost, come twice, late and in any order, and so do acquires of sessions that have died
// meanwhile. No session that is alive may lose anything, and in the end nothing of the dead may be left.
func TestDeathsReachTheOtherShardAndTheLivingLoseNothing(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		home, away, _, name := halves()
		directory := &laggard{m: New(Options{Slots: home.slots})}
		var out Effects
		atHome := func(c Command) Effect {
			out.Reset()
			b := &Batch{Commands: []Command{c}}
			home.Apply(b, &out)
			directory.pending = append(directory.pending, b)
			for _, e := range out.List {
				if e.Kind == EffectResult {
					return e
				}
			}
			panic("no result")
		}
		alive := map[SessionID]bool{}
		numbers := map[SessionID]uint64{}
		var ids []SessionID
		var late []*Batch // on their way to the other shard
		deliver := func() {
			if len(late) == 0 {
				return
			}
			i := rng.IntN(len(late))
			out.Reset()
			away.Apply(late[i], &out)
			for _, e := range out.List {
				if e.Kind == EffectSessionEnded && alive[e.Session] {
					t.Fatalf("seed %d: session %v lives and was forgotten", seed, e.Session)
				}
			}
			if rng.IntN(4) > 0 { // else it comes again
				late = append(late[:i], late[i+1:]...)
			}
		}
		for range 600 {
			switch rng.IntN(6) {
			case 0:
				e := atHome(Command{Kind: CmdSessionCreate, Slot: Slot(rng.IntN(Slots / 2)), Node: 1, Timeout: 1000})
				alive[e.Session] = true
				ids = append(ids, e.Session)
			case 1, 2:
				if len(ids) > 0 {
					id := ids[rng.IntN(len(ids))] // dead ones too: their last words are under way
					numbers[id]++
					late = append(late, &Batch{Commands: []Command{{
						Kind: CmdAcquire, Session: id, Number: numbers[id], Node: 1, Count: 1, Timeout: Forever,
						Name: fmt.Appendf(nil, "%s", name), Flags: FlagEphemeral,
					}}})
				}
			case 3:
				if len(ids) > 0 && rng.IntN(2) == 0 {
					id := ids[rng.IntN(len(ids))]
					if alive[id] {
						delete(alive, id)
						atHome(Command{Kind: CmdSessionEnd, Session: id})
					}
				}
			case 4:
				directory.catchUp(rng.IntN(3))
				dead, _, _ := away.DeadGuests(0, directory, nil)
				if len(dead) > 0 && rng.IntN(3) > 0 {
					late = append(late, &Batch{Commands: []Command{{Kind: CmdSessionsForget, Sessions: dead}}})
				}
			default:
				deliver()
			}
		}
		for len(late) > 0 {
			deliver()
		}
		// Level-triggered: one round with a directory that is up to date ends it.
		directory.catchUp(1 << 30)
		dead, _, over := away.DeadGuests(0, directory, nil)
		if !over {
			t.Fatal("more guests than one page")
		}
		out.Reset()
		away.Apply(&Batch{Commands: []Command{{Kind: CmdSessionsForget, Sessions: dead}}}, &out)
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
	behind := New(Options{Slots: home.slots})
	var out Effects
	home.Apply(&Batch{Commands: []Command{{Kind: CmdSessionCreate, Node: 1, Slot: 3}}}, &out)
	id := out.List[1].Session
	if behind.Liveness(id) != Unknown || home.Liveness(id) != Alive || away.Liveness(id) != Unknown {
		t.Fatal(behind.Liveness(id), home.Liveness(id), away.Liveness(id))
	}
	out.Reset()
	away.Apply(&Batch{Commands: []Command{{Kind: CmdAcquire, Session: id, Number: 1, Node: 1, Name: name, Count: 1,
		Flags: FlagEphemeral}}}, &out)
	if dead, _, _ := away.DeadGuests(0, behind, nil); len(dead) != 0 {
		t.Fatal(dead)
	}
	home.Apply(&Batch{Commands: []Command{{Kind: CmdSessionEnd, Session: id}}}, &out)
	if dead, _, _ := away.DeadGuests(0, home, nil); len(dead) != 1 || dead[0] != id {
		t.Fatal(dead)
	}
}

func TestTheHomeShardDoesNotForgetAndOthersDoNotExpire(t *testing.T) {
	home, away, _, name := halves()
	var out Effects
	home.Apply(&Batch{Commands: []Command{{Kind: CmdSessionCreate, Node: 1, Slot: 3}}}, &out)
	id := out.List[1].Session
	out.Reset()
	away.Apply(&Batch{Commands: []Command{
		{Kind: CmdAcquire, Session: id, Number: 1, Node: 1, Name: name, Count: 1, Flags: FlagEphemeral},
		{Kind: CmdSessionsExpire, Sessions: []SessionID{id}},
		{Kind: CmdSessionEnd, Session: id},
	}}, &out)
	home.Apply(&Batch{Commands: []Command{{Kind: CmdSessionsForget, Sessions: []SessionID{id}}}}, &out)
	if _, known := home.Session(id); !known {
		t.Fatal("the home shard forgot a session because another one was told to")
	}
	if _, known := away.Session(id); !known {
		t.Fatal("a shard that is not its home expired a session")
	}
	for _, e := range out.List {
		if e.Kind == EffectResult && e.Op == 2 && e.Status != protocol.StatusMoved &&
			e.Status != protocol.StatusSuccess {
			t.Fatal(e)
		}
	}
}
