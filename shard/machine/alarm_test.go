package machine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/codec"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// bells is an object kind with alarms: a command sets a bell's alarm, and the bell counts how often it rang. A
// repeating bell sets its next alarm while it is due.
type bells struct {
	arena.Slab[bell]
	PlainHoldings
	SmallStates
}

type bell struct{ at, every, rung uint64 }

const (
	kindBell shard.ObjectKind  = 6
	cmdRing  shard.CommandKind = 249 // Timeout: after how many milliseconds; Count: how often again, in milliseconds
	cmdUnset shard.CommandKind = 248 // the bell goes
)

var bellRow = KindRow{Number: kindBell, New: func() Kind { return &bells{} }, Commands: []CommandRow{
	{Kind: cmdRing, Mutation: Mutation{Run: ring, Anonymous: true}},
	{Kind: cmdUnset, Mutation: Mutation{Run: unset, Anonymous: true}},
}}

func (b *bells) of(m *Core, h arena.Handle) *bell { return b.At(m.Objects.At(h).State) }

func ring(m *Core, c *shard.Command, t *Target) Outcome {
	b := m.kinds[kindBell].(*bells)
	if t.Object == 0 {
		t.Object = m.Objects.Add(kindBell, t, c.Node, c.Name, b.Alloc())
		m.Objects.Changed(t.Object, shard.FlagCreated)
	}
	m.Snapshots.TouchObject(t.Object)
	x := b.of(m, t.Object)
	x.at, x.every = m.Clock.After(c.Timeout), c.Count
	m.Objects.SetAlarm(t.Object, x.at)
	return Outcome{}
}

func unset(m *Core, _ *shard.Command, t *Target) Outcome {
	m.Objects.Changed(t.Object, shard.FlagDeleted)
	m.Objects.Remove(t.Object)
	return Outcome{}
}

func (b *bells) Due(m *Core, object, _ arena.Handle) {
	m.Snapshots.TouchObject(object)
	x := b.of(m, object)
	x.rung++
	x.at = 0
	if x.every > 0 {
		x.at = m.Clock.After(x.every)
		m.Objects.SetAlarm(object, x.at)
	}
	m.Objects.Changed(object, shard.FlagData)
}

func (b *bells) Shift(body arena.Handle, moment func(uint64) uint64) {
	b.At(body).at = moment(b.At(body).at)
}

func (b *bells) ReleaseHolding(*Core, arena.Handle) {}

func (b *bells) Remove(m *Core, h arena.Handle) {
	m.Objects.Changed(h, shard.FlagDeleted)
	m.Objects.Remove(h)
}

func (b *bells) Resume(*Core, arena.Handle) {}

func (b *bells) StateSize(arena.Handle) int { return 0 }

func (b *bells) FreeState(body arena.Handle) { b.Release(body) }

func (b *bells) Save(dst []byte, body arena.Handle) []byte {
	x := b.At(body)
	return binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(dst, x.at), x.every), x.rung)
}

func (b *bells) Renew(body arena.Handle, n *StateRenewal) ([]byte, bool) {
	x := *b.At(body)
	if x.at != 0 {
		x.at += n.Later
	}
	h := b.Alloc()
	*b.At(h) = x
	defer b.Release(h)
	return b.Save(nil, h), true
}

func (b *bells) Load(src []byte) (arena.Handle, bool) {
	r := codec.Input{Data: src}
	h := b.Alloc()
	*b.At(h) = bell{at: r.Number(), every: r.Number(), rung: r.Number()}
	return h, r.Sound() && len(r.Data) == 0
}

// Linked refuses a bell with links: no command creates one, and releaseLink has nothing to release.
func (b *bells) Linked(m *Core, object arena.Handle) error {
	if o := m.Objects.At(object); o.Held != 0 {
		return BadSnapshot("bell %q has links", o.name)
	}
	m.Objects.SetAlarm(object, b.of(m, object).at)
	return nil
}

func (b *bells) View(m *Core, object arena.Handle, _ string) (View, bool) {
	return View{track: &m.Objects.At(object).track}, false
}

func (b *bells) Describe(*Core, arena.Handle, View, Described, *shard.Description) {}

func (b *bells) Changes(*Core, arena.Handle, View, shard.Revision, *shard.Delta) bool {
	return false
}

func (b *bells) Role(*Holding) string { return "" }

func (b *bells) AppendState(*Core, arena.Handle, *shard.State) {}

// ringers is a machine of bells with a leader.
type ringers struct {
	bed
	t       *testing.T
	elapsed uint64
}

func newRingers(t *testing.T, bounds Bounds) *ringers {
	r := &ringers{t: t}
	r.M = New(TestKinds, Options{Bounds: bounds})
	r.M.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdLevel, Count: uint64(level.Newest)}}}, &r.Out)
	r.lead(1)
	return r
}

// at applies a command proposed at the given milliseconds after the start of the term, and returns its result.
func (r *ringers) at(elapsed uint64, c shard.Command) shard.Effect {
	r.t.Helper()
	r.elapsed = elapsed
	c.Level = level.Newest
	r.Out.Reset()
	r.M.Apply(&shard.Batch{Stamp: clock.Stamp{Term: r.M.Term(), Elapsed: elapsed}, Commands: []shard.Command{c}},
		&r.Out)
	return r.Out.List[slices.IndexFunc(r.Out.List, func(e shard.Effect) bool { return e.Kind == shard.EffectResult })]
}

func (r *ringers) lead(term uint64) { r.at(0, shard.Command{Kind: shard.CmdLead, Term: term}) }

func (r *ringers) set(elapsed uint64, name string, after, every uint64) {
	r.t.Helper()
	e := r.at(elapsed, shard.Command{Kind: cmdRing, Node: 1, Name: []byte(name), Timeout: after, Count: every})
	if e.Status != protocol.StatusSuccess {
		r.t.Fatal(e)
	}
}

// due applies the leader's command, and returns the bells that rang, in order.
func (r *ringers) due(elapsed uint64) (rang []string, more bool) {
	r.t.Helper()
	e := r.at(elapsed, shard.Command{Kind: shard.CmdDue, Term: r.M.Term()})
	if e.Status != protocol.StatusSuccess {
		r.t.Fatal(e)
	}
	for _, e := range r.Out.List {
		if e.Kind == shard.EffectChanged {
			rang = append(rang, e.Name)
		}
	}
	return rang, e.Flags&shard.FlagMore != 0
}

func (r *ringers) mustRing(elapsed uint64, want ...string) {
	r.t.Helper()
	if rang, more := r.due(elapsed); !slices.Equal(rang, want) || more {
		r.t.Fatalf("after %d ms %v rang, want %v; more %v", elapsed, rang, want, more)
	}
}

func TestAlarmsAreDueByTheTimeOfTheShard(t *testing.T) {
	r := newRingers(t, Bounds{})
	r.set(100, "c", 50, 0)
	r.set(100, "a", 50, 0)
	r.set(100, "b", 20, 0)
	r.set(100, "d", 50, 0)
	r.at(100, shard.Command{Kind: cmdUnset, Node: 1, Name: []byte("d")})
	if at, ok := r.M.NextAlarm(); at != 121 || !ok || r.M.Alarms() != 3 {
		t.Fatal(at, ok, r.M.Alarms())
	}
	r.mustRing(120) // elapsed time is rounded down to milliseconds
	r.mustRing(121, "b")
	r.mustRing(150)
	r.mustRing(200, "a", "c") // simultaneous bells by name
	r.mustRing(100_000)
	if _, ok := r.M.NextAlarm(); ok || r.M.Alarms() != 0 || r.M.Time() != 100_000 {
		t.Fatal("something is due")
	}
	if e := r.at(1, shard.Command{Kind: shard.CmdDue, Term: 7}); e.Status != protocol.StatusStale {
		t.Fatal(e)
	}
}

// TestADelayGoesOnUnderTheNextLeader: time under the previous leader counts, time between leaders does not.
func TestADelayGoesOnUnderTheNextLeader(t *testing.T) {
	r := newRingers(t, Bounds{})
	r.set(1000, "a", 500, 0)
	r.mustRing(1400)
	r.lead(2)
	r.mustRing(100)
	r.mustRing(101, "a")
	r.set(200, "b", 10, 0)
	r.lead(2) // again
	r.mustRing(210)
	r.mustRing(211, "b")
}

// TestWhatIsDueIsBoundedWork: a command works up to its limit, and reports that there is more.
func TestWhatIsDueIsBoundedWork(t *testing.T) {
	r := newRingers(t, Bounds{Work: 3})
	for i := range 8 {
		r.set(0, fmt.Sprint(i), uint64(i), 0)
	}
	for want := range 3 {
		rang, more := r.due(1000)
		if len(rang) != min(3, 8-3*want) || rang[0] != fmt.Sprint(3*want) || more != (want < 2) {
			t.Fatalf("command %d rang %v, more %v", want, rang, more)
		}
	}
	r.set(1000, "always", 0, 1) // is due again a millisecond later
	rang, more := r.due(1003)
	if !slices.Equal(rang, []string{"always"}) || more {
		t.Fatal(rang, more)
	}
}

// TestAnObjectThatIsBeingDeletedIsNotDue: its alarm is dropped silently.
func TestAnObjectThatIsBeingDeletedIsNotDue(t *testing.T) {
	r := newRingers(t, Bounds{})
	r.set(0, "a", 10, 0)
	h := r.M.core.Objects.find(shard.ObjectHash(1, []byte("a")), 1, []byte("a"))
	r.M.core.Objects.At(h).Deleting = true
	r.mustRing(100)
	if r.M.Alarms() != 0 {
		t.Error("the alarm stays")
	}
}

// TestAlarmsComeBackWithASnapshot: kinds restore alarms from their state, and time continues from its saved value.
func TestAlarmsComeBackWithASnapshot(t *testing.T) {
	r := newRingers(t, Bounds{})
	r.set(1000, "x", 500, 0)
	r.set(1000, "a", 500, 40)
	sn := machinetest.Prepare(t, r.M)
	r.mustRing(1501, "a", "x")
	file := machinetest.Save(t, sn)
	fresh := &ringers{t: t}
	fresh.M = New(TestKinds, Options{})
	if err := fresh.M.Restore(bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if got, want := fresh.M.Clock(), (clock.Clock{Now: 1000, Term: 1}); got != want || fresh.M.Alarms() != 2 {
		t.Fatalf("%+v, %d alarms", got, fresh.M.Alarms())
	}
	fresh.mustRing(1500)
	fresh.mustRing(1501, "a", "x")
	fresh.lead(2)
	for _, m := range []*ringers{r, fresh} {
		if m.M.Term() == 1 {
			m.lead(2)
		}
		m.mustRing(40)
		m.mustRing(41, "a")
	}
	if r.M.Digest() != fresh.M.Digest() {
		t.Error("the two have different digests")
	}
	if err := fresh.M.Restore(bytes.NewReader(machinetest.File(t, New(TestKinds, Options{})))); err != nil {
		t.Fatal(err)
	}
	if fresh.M.Alarms() != 0 || fresh.M.Time() != 0 {
		t.Error("alarms of what was replaced are there")
	}
}

// TestSnapshotWhoseTermBeginsAfterItsTimeIsRefused: the header is inconsistent.
func TestSnapshotWhoseTermBeginsAfterItsTimeIsRefused(t *testing.T) {
	r := newRingers(t, Bounds{})
	r.at(70, shard.Command{Kind: shard.CmdDue, Term: 1})
	r.lead(2)
	r.at(7, shard.Command{Kind: shard.CmdDue, Term: 2})
	file := machinetest.File(t, r.M) // 77 ms, since 70
	end := appendGroup([]byte{77, 70}, &shard.Group{})
	bad := changedHeader(file, func(p []byte) []byte {
		if !bytes.HasSuffix(p, end) {
			t.Fatalf("the header ends with %x", p)
		}
		p[len(p)-len(end)+1] = 78
		return p
	})
	restored(t, file)
	if err := New(TestKinds, Options{}).Restore(bytes.NewReader(bad)); err == nil {
		t.Error("was taken")
	}
}

// TestObjectsWithoutAlarmsPayNothing: neither memory per object, nor a stamp per batch.
func TestObjectsWithoutAlarmsPayNothing(t *testing.T) {
	r := newRingers(t, Bounds{})
	b := &shard.Batch{Commands: []shard.Command{{Level: level.Newest, Kind: shard.CmdDigestTake}}}
	r.at(1, b.Commands[0])
	n := testing.AllocsPerRun(100, func() {
		r.elapsed++
		b.Stamp = clock.Stamp{Term: 1, Elapsed: r.elapsed}
		r.Out.Reset()
		r.M.Apply(b, &r.Out)
	})
	if n != 0 || len(r.M.core.alarms.Items) != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAWaiterThatGoesLeavesNoAlarm: however its wait ends.
func TestAWaiterThatGoesLeavesNoAlarm(t *testing.T) {
	b := newBed(2)
	hall := []byte("hall")
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: hall, Count: 2})
	b.As(0, shard.Command{Kind: shard.CmdAcquire, Name: hall, Count: 1, Timeout: 60_000})
	wait := func(count, timeout uint64) {
		b.As(1, shard.Command{Kind: shard.CmdAcquire, Name: hall, Count: count, Timeout: timeout})
	}
	mustBe := func(when string, want int) {
		t.Helper()
		if n := b.M.Alarms(); n != want {
			t.Fatalf("%s: %d alarms, want %d", when, n, want)
		}
	}
	mustBe("it owns", 0)
	wait(2, 60_000)
	mustBe("the other one waits", 1)
	wait(2, 1000)
	mustBe("it waits anew", 1)
	wait(2, shard.Forever)
	mustBe("it waits forever", 0)
	wait(2, 60_000)
	wait(1, 60_000)
	mustBe("it asked for less, and was granted", 0)
	b.As(1, shard.Command{Kind: shard.CmdRelease, Name: hall})
	wait(2, 60_000)
	b.As(1, shard.Command{Kind: shard.CmdRelease, Name: hall})
	mustBe("it left", 0)
	wait(2, 60_000)
	wait(2, 0)
	mustBe("it tried", 0)
	wait(2, 60_000)
	b.As(0, shard.Command{Kind: shard.CmdRelease, Name: hall})
	mustBe("it was granted", 0)
	b.As(0, shard.Command{Kind: shard.CmdAcquire, Name: hall, Count: 1, Timeout: 60_000})
	mustBe("the first one waits", 1)
	b.Do(shard.Command{Kind: shard.CmdSemaphoreDelete, Node: 1, Name: hall, Flags: shard.FlagForce})
	mustBe("the semaphore was deleted", 0)
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: hall, Count: 2})
	b.As(0, shard.Command{Kind: shard.CmdAcquire, Name: hall, Count: 1})
	wait(2, 60_000)
	b.Do(shard.Command{Kind: shard.CmdSessionEnd, Session: b.IDs[1]})
	mustBe("its session ended", 0)
}

// TestDeadlinesThatComeAndGoAllocateNothing: one waiter among others.
func TestDeadlinesThatComeAndGoAllocateNothing(t *testing.T) {
	b := newBed(100)
	b.queue(100, 1)
	hall := []byte("hall")
	i := 0
	again := func() {
		i = i%99 + 1
		b.ApplyAs(i, &shard.Command{Kind: shard.CmdRelease, Name: hall})
		b.ApplyAs(i, &shard.Command{Kind: shard.CmdAcquire, Name: hall, Count: 1, Timeout: uint64(1000 * i)})
	}
	for range 1000 {
		again()
	}
	if n := testing.AllocsPerRun(1000, again); n != 0 || b.M.Alarms() != 99 {
		t.Errorf("%v allocations, %d alarms", n, b.M.Alarms())
	}
}
