package machine_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/test/twin"
)

const regeneratedStates = 24

// everyNode keeps all nodes.
func everyNode(shard.NodeID) bool { return true }

// thirds are the slots of three shards.
func thirds() (list []shard.SlotSet) {
	for i := range 3 {
		var s shard.SlotSet
		s.Add(shard.Slot(i*shard.Slots/3), shard.Slot((i+1)*shard.Slots/3-1))
		list = append(list, s)
	}
	return list
}

func regenerate(t *testing.T, age time.Duration, keep func(shard.NodeID) bool, slots []shard.SlotSet,
	from ...*machine.Machine) []*machine.Machine {
	t.Helper()
	made, err := machine.Regenerate(from, machine.Regeneration{Slots: slots, Jump: machine.JumpOver(age), Keep: keep})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// driven is a machine with random commands.
type driven struct {
	*contestant
	source *twin.Generator
	slots  shard.SlotSet
}

func drive(t *testing.T, seed uint64, commands int) *driven {
	source := twin.NewGenerator(seed)
	d := &driven{newContestant("machine", source.Options()), source, source.Options().Slots}
	d.on(t, commands)
	return d
}

// on runs more commands on the machine, checks the invariants, and returns the highest numbers assigned.
func (d *driven) on(t *testing.T, commands int) (given marks) {
	t.Helper()
	before := d.State()
	for done := 0; done < commands; {
		b := d.source.Batch(&before)
		done += len(b.Commands)
		if err := d.apply(b); err != nil {
			t.Fatal(err)
		}
		after := d.State()
		if err := twin.Check(after, d.slots); err != nil {
			t.Fatal(err)
		}
		if err := twin.CheckChange(&before, &after, d.effects.List); err != nil {
			t.Fatal(err)
		}
		before = after
		given.see(d.effects.List)
	}
	return given
}

// marks are the highest and lowest numbers assigned by commands.
type marks struct {
	order, lowestOrder       shard.OrderID
	revision, lowestRevision shard.Revision
	session, lowestSession   uint64
}

func lower[T ~uint64](low, n T) T {
	if low == 0 || n < low {
		return n
	}
	return low
}

func (m *marks) see(effects []shard.Effect) {
	for _, e := range effects {
		if e.Kind == shard.EffectResult && e.Session != 0 {
			n := e.Session.Counter()
			m.session, m.lowestSession = max(m.session, n), lower(m.lowestSession, n)
		}
		if e.Kind == shard.EffectChanged {
			m.revision, m.lowestRevision = max(m.revision, e.Revision), lower(m.lowestRevision, e.Revision)
		}
		if e.Order != 0 {
			m.order, m.lowestOrder = max(m.order, e.Order), lower(m.lowestOrder, e.Order)
		}
	}
}

// above returns a number assigned twice, if the lowest of these numbers is not above the highest of other.
func (m *marks) above(other marks) error {
	if m.lowestOrder != 0 && m.lowestOrder <= other.order || m.lowestRevision != 0 &&
		m.lowestRevision <= other.revision || m.lowestSession != 0 && m.lowestSession <= other.session {
		return fmt.Errorf("%+v was given after %+v", *m, other)
	}
	return nil
}

// reloaded returns a machine restored from another's saved state.
func reloaded(t *testing.T, m *machine.Machine) *machine.Machine {
	t.Helper()
	s, err := m.PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := s.Save(&file, nil); err != nil {
		t.Fatal(err)
	}
	s.Discard()
	again := machine.New(machine.TestKinds, machine.Options{})
	if err := again.Restore(&file); err != nil {
		t.Fatal(err)
	}
	return again
}

// staying is the expected semaphores of a new cluster, derived from a plain state.
func staying(s *shard.State, keep func(shard.NodeID) bool) (list []shard.SemaphoreState) {
	dropped := func(id shard.NodeID) bool {
		return slices.ContainsFunc(s.Nodes, func(n shard.NodeState) bool { return n.ID == id && n.Dropping })
	}
	for _, sem := range s.Semaphores {
		deleting := slices.ContainsFunc(s.Pending, func(p shard.PendingState) bool {
			return p.Deleting && p.Node == sem.Node && p.Name == sem.Name
		})
		if !sem.Ephemeral && !deleting && !dropped(sem.Node) && keep(sem.Node) {
			sem.Links, sem.Revision = nil, 0
			list = append(list, sem)
		}
	}
	return list
}

// TestRegenerationKeepsPersistentSemaphores: from random states, semaphores remain and sessions do not, later commands
// break no invariant, the result is saved and restored unchanged, and no number is assigned twice.
func TestRegenerationKeepsPersistentSemaphores(t *testing.T) {
	first := rand.Uint64N(1 << 40)
	t.Logf("first seed: %d", first)
	for seed := first; seed < first+regeneratedStates; seed++ {
		old := drive(t, seed, 800)
		keep := func(id shard.NodeID) bool { return id != 2 || seed%2 == 0 }
		made := regenerate(t, time.Second, keep, []shard.SlotSet{old.slots}, old.Machine)[0]
		before, after := old.State(), made.State()
		if err := twin.Check(after, old.slots); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(after.Sessions) > 0 || len(after.Pending) > 0 || after.Now != before.Now {
			t.Fatalf("seed %d: %d sessions, %v", seed, len(after.Sessions), after.Pending)
		}
		for _, sem := range after.Semaphores {
			if sem.Revision <= before.LastRevision+1<<40 {
				t.Fatalf("seed %d: revision %d of what had at most %d", seed, sem.Revision, before.LastRevision)
			}
		}
		want := staying(&before, keep)
		if got := staying(&after, everyNode); !slices.EqualFunc(got, want, sameSemaphore) {
			t.Fatalf("seed %d:\n%+v\n%+v", seed, got, want)
		}
		if got := reloaded(t, made); got.Digest() != made.Digest() {
			t.Fatalf("seed %d: it is not restored as it is", seed)
		}
		lost := old.on(t, 400)
		next := &driven{&contestant{name: "regenerated", Machine: made}, old.source, old.slots}
		if given := next.on(t, 400); given.above(lost) != nil {
			t.Fatalf("seed %d: %v", seed, given.above(lost))
		}
	}
}

func sameSemaphore(a, b shard.SemaphoreState) bool {
	return a.Node == b.Node && a.Name == b.Name && a.Data == b.Data && a.Limit == b.Limit &&
		a.Ephemeral == b.Ephemeral && len(a.Links) == 0
}

// TestOneStateRegeneratedTwice: a second restore one second later, after as much activity as possible in between, has
// numbers above all numbers of the first.
func TestOneStateRegeneratedTwice(t *testing.T) {
	for seed := range uint64(8) {
		old := drive(t, seed, 400)
		slots := []shard.SlotSet{old.slots}
		one := regenerate(t, 10*time.Second, everyNode, slots, old.Machine)[0]
		first := &driven{&contestant{name: "first", Machine: one}, old.source, old.slots}
		given := first.on(t, 400)
		two := regenerate(t, 11*time.Second, everyNode, slots, old.Machine)[0]
		second := &driven{&contestant{name: "second", Machine: two}, old.source, old.slots}
		later := second.on(t, 400)
		// Sessions of the two are distinguished by generation.
		given.session = 0
		if err := later.above(given); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestRegenerationIntoOtherShards: three shards become one and one becomes three; all start above the highest old
// number.
func TestRegenerationIntoOtherShards(t *testing.T) {
	for seed := range uint64(8) {
		old := drive(t, seed, 600)
		whole := []shard.SlotSet{shard.EverySlot()}
		three := regenerate(t, 0, everyNode, thirds(), old.Machine)
		var spread []shard.SemaphoreState
		for i, m := range three {
			s := m.State()
			if err := twin.Check(s, thirds()[i]); err != nil {
				t.Fatal(err)
			}
			spread = append(spread, staying(&s, everyNode)...)
		}
		before := old.State()
		if want := staying(&before, everyNode); len(spread) != len(want) {
			t.Fatalf("seed %d: %d semaphores of %d", seed, len(spread), len(want))
		}
		one := regenerate(t, 0, everyNode, whole, three...)[0]
		after := one.State()
		if got, want := staying(&after, everyNode), staying(&before, everyNode); !slices.EqualFunc(got, want,
			sameSemaphore) {
			t.Fatalf("seed %d:\n%+v\n%+v", seed, got, want)
		}
		for _, m := range three {
			s := m.State()
			if after.LastOrder <= s.LastOrder || after.LastRevision <= s.LastRevision ||
				after.LastSession <= s.LastSession {
				t.Errorf("seed %d: %+v after %+v", seed, after, s)
			}
		}
	}
}

// TestAHomeThatIsOlderThanItsRemoteSessions: a session known only to another shard, because its home was saved before
// the session started, leaves nothing behind, and its id is not reused.
func TestAHomeThatIsOlderThanItsRemoteSessions(t *testing.T) {
	slots := thirds()
	home, other := machine.New(machine.TestKinds, machine.Options{Slots: slots[0]}),
		machine.New(machine.TestKinds, machine.Options{Slots: slots[1]})
	name := []byte("job-0")
	for i := 0; !slots[1].Has(shard.SlotOf(1, name)); i++ {
		name = fmt.Appendf(nil, "job-%d", i)
	}
	id := shard.NewSessionID(0, 1<<37) // from a home restored twice
	var out shard.Effects
	other.Apply(&shard.Batch{Commands: []shard.Command{
		{Kind: shard.CmdLevel, Count: uint64(level.Newest)},
	}}, &out)
	other.Apply(&shard.Batch{Commands: []shard.Command{
		{Kind: shard.CmdSemaphoreCreate, Level: 1, Node: 1, Name: name, Count: 1},
		{Kind: shard.CmdAcquire, Level: 1, Node: 1, Name: name, Count: 1, Session: id, Number: 1},
	}}, &out)
	if s := other.State(); len(s.Sessions) != 1 || len(s.Semaphores[0].Links) != 1 {
		t.Fatalf("%+v", s)
	}
	made := regenerate(t, 0, everyNode, []shard.SlotSet{shard.EverySlot()}, home, other)[0]
	s := made.State()
	if len(s.Sessions) != 0 || len(s.Semaphores) != 1 || len(s.Semaphores[0].Links) != 0 ||
		s.LastSession <= id.Counter() || made.Liveness(id) != shard.Dead {
		t.Errorf("%+v", s)
	}
}

// TestNoRoomForAnotherJump: exhausted counters are refused, not reset.
func TestNoRoomForAnotherJump(t *testing.T) {
	m := machine.New(machine.TestKinds, machine.Options{})
	for range 4 {
		made,
			err := machine.Regenerate([]*machine.Machine{m},
			machine.Regeneration{Slots: []shard.SlotSet{shard.EverySlot()}, Jump: machine.Jump{Orders: 1 << 58},
				Keep: everyNode})
		if err != nil {
			return
		}
		m = made[0]
	}
	t.Error("order ids have no end")
}

func TestAnAgeBelowZero(t *testing.T) {
	for age, want := range map[time.Duration]machine.Jump{
		-time.Hour: {1 << 50, 1 << 40}, 1500 * time.Millisecond: {1<<50 + 2<<30, 1<<40 + 2<<24},
	} {
		if got := machine.JumpOver(age); got != want {
			t.Errorf("over %v: %+v", age, got)
		}
	}
}
