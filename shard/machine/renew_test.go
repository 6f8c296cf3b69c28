package machine_test

import (
	"slices"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/slots"
)

// longest is the longest timeout known to the meta shard, in milliseconds, and patience the leader's wait.
const longest, patience = 20_000, 30_000

// lowerSlots are the shard's slots.
var lowerSlots = func() (s shard.SlotSet) {
	s.Add(0, shard.Slots/2-1)
	return s
}()

// nameHere returns a name of node 1 in the shard.
func nameHere(like string) []byte {
	for !lowerSlots.Has(shard.SlotOf(1, []byte(like))) {
		like += "+"
	}
	return []byte(like)
}

// survivor is a machine of a shard with the lower half of the slots, and the leader that proposes its commands.
type survivor struct {
	*machine.Machine
	t       *testing.T
	term    uint64
	elapsed uint64
	remote  shard.SessionID
	lock    []byte
}

// newSurvivor returns a machine at a level with a lock with limit 1.
func newSurvivor(t *testing.T, at level.Level) *survivor {
	t.Helper()
	s := &survivor{
		t: t, Machine: machine.New(machine.TestKinds, machine.Options{Shard: 3, Slots: lowerSlots}),
		lock:   nameHere("lock"),
		remote: shard.NewSessionID(shard.Slots-1, 5),
	}
	s.Apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdLevel, Count: uint64(at)}}}, new(shard.Effects))
	s.lead()
	s.must(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: s.lock, Count: 1})
	return s
}

func (s *survivor) lead() {
	s.term, s.elapsed = s.Term()+1, 0
	s.must(shard.Command{Kind: shard.CmdLead, Term: s.term})
}

// do applies a command and returns its result.
func (s *survivor) do(c shard.Command) shard.Effect {
	s.t.Helper()
	c.Level = s.Level()
	var out shard.Effects
	s.Apply(&shard.Batch{Stamp: clock.Stamp{Term: s.term, Elapsed: s.elapsed}, Commands: []shard.Command{c}}, &out)
	return out.List[slices.IndexFunc(out.List, func(e shard.Effect) bool { return e.Kind == shard.EffectResult })]
}

func (s *survivor) must(c shard.Command) shard.Effect {
	s.t.Helper()
	e := s.do(c)
	s.want(e, protocol.StatusSuccess)
	return e
}

func (s *survivor) want(e shard.Effect, status protocol.Status) {
	s.t.Helper()
	if e.Status != status {
		s.t.Fatalf("answered %v %q, want %v", e.Status, e.Body, status)
	}
}

// acquire is an acquire of the lock.
func (s *survivor) acquire(id shard.SessionID, number uint64) shard.Command {
	return shard.Command{Kind: shard.CmdAcquire, Node: 1, Name: s.lock, Session: id, Number: number, Count: 1,
		Timeout: shard.Forever}
}

// write replaces the lock's data.
func (s *survivor) write(id shard.SessionID, number, acked uint64, data string) shard.Command {
	return shard.Command{Kind: shard.CmdSemaphoreUpdate, Node: 1, Name: s.lock, Session: id, Number: number,
		Acked: acked, Data: []byte(data)}
}

// session starts a session at home.
func (s *survivor) session() shard.SessionID {
	s.t.Helper()
	return s.must(shard.Command{
		Kind: shard.CmdSessionCreate, Node: 1, Slot: 7, Timeout: 5_000, Key: []byte("key"),
	}).Session
}

// renewed rebuilds the shard, under a leader of the new group.
func (s *survivor) renewed(change ...func(*machine.Renewal)) *survivor {
	s.t.Helper()
	r := machine.Renewal{
		Group: s.Group().Number + 1, Jump: machine.JumpOver(0), Longest: shard.Longest{Timeout: longest},
	}
	for _, f := range change {
		f(&r)
	}
	made, err := s.Renew(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if reloaded(s.t, made).Digest() != made.Digest() {
		s.t.Fatal("a snapshot of the renewed machine is restored as another one")
	}
	next := *s
	next.Machine = made
	next.lead()
	return &next
}

// beginWait begins the wait.
func (s *survivor) beginWait(wait uint64) {
	s.t.Helper()
	s.must(shard.Command{Kind: shard.CmdGroupWait, Term: s.term, Count: s.Group().Number, Timeout: wait})
}

// TestNoNumberIsCarriedOutTwiceAfterARenewal: a remote session's repeated requests get their old answers, except for
// lost ownership and waits.
func TestNoNumberIsCarriedOutTwiceAfterARenewal(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	other := s.remote + 1
	s.must(s.write(s.remote, 1, 0, "seen"))
	s.must(s.acquire(s.remote, 2))
	written := s.must(s.write(s.remote, 3, 1, "first"))
	s.must(s.acquire(other, 1))
	s.must(s.write(0, 0, 0, "later"))

	next := s.renewed()
	before := next.Digest()
	if e := next.must(next.write(s.remote, 3, 1, "first")); e.Revision != written.Revision {
		t.Errorf("the write is answered with revision %d, not %d", e.Revision, written.Revision)
	}
	next.want(next.do(next.write(s.remote, 1, 0, "seen")), protocol.StatusStale)
	for id, number := range map[shard.SessionID]uint64{s.remote: 2, other: 1} {
		e := next.do(next.acquire(id, number))
		if next.want(e, protocol.StatusAborted); e.Order != 0 || e.Flags != 0 {
			t.Errorf("the acquire of %v is answered with %+v", id, e)
		}
	}
	if next.Digest() != before {
		t.Error("a repetition has changed something")
	}
	if losses := next.Losses([]shard.SessionID{s.remote, other}, nil); len(losses) != 2 || losses[0].Count <= 1000 {
		t.Errorf("the remote sessions count %v losses", losses)
	}
}

// TestARenewedShardGrantsNothingUntilItsWaitIsOver: an acquire is refused under its number, with the minimum remaining
// time. The wait begins only with a leader's command. Data can change meanwhile. The next fencing token is above all
// old ones.
func TestARenewedShardGrantsNothingUntilItsWaitIsOver(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	s.must(s.acquire(s.remote, 1))
	next := s.renewed()
	next.elapsed = 1 << 40
	refused := func(left uint64) {
		t.Helper()
		e := next.do(next.acquire(s.remote, 2))
		if next.want(e, protocol.StatusOverloaded); e.Timeout != left || e.Body != shard.QuietReason {
			t.Errorf("refused for %d ms with %q, want %d", e.Timeout, e.Body, left)
		}
	}
	refused(longest)
	next.beginWait(patience)
	next.elapsed += 500
	next.beginWait(1) // once
	for range 2 {
		refused(patience - 500)
	}
	next.want(next.do(shard.Command{Kind: shard.CmdAcquire, Node: 1, Name: nameHere("new"), Session: s.remote,
		Number: 2, Count: 1, Flags: shard.FlagEphemeral}), protocol.StatusOverloaded)
	next.must(next.write(0, 0, 0, "meanwhile"))
	next.must(shard.Command{Kind: shard.CmdRelease, Node: 1, Name: s.lock, Session: s.remote, Number: 2})
	next.elapsed += patience
	e := next.must(next.acquire(s.remote, 3))
	if e.Flags&shard.FlagAcquired == 0 || e.Order <= shard.OrderID(1)<<50 || e.Order%(shard.MaxShard+1) != 3 {
		t.Errorf("acquired as %d, flags %b", e.Order, e.Flags)
	}
}

// TestTheWaitLastsAsLongAsAClientMayBelieve: an isolated client believes for its session's timeout, whether known to
// the survivor or only to the meta shard, and even across a second rebuild.
func TestTheWaitLastsAsLongAsAClientMayBelieve(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	want := func(of *survivor, l shard.Longest) {
		t.Helper()
		if got := of.Group().Longest; got != l {
			t.Errorf("waits for %+v, want %+v", got, l)
		}
		of.beginWait(1)
		if g := of.Group(); g.Until != of.Time()+l.Timeout {
			t.Errorf("at %d the wait ends at %d", of.Time(), g.Until)
		}
	}
	want(s.renewed(), shard.Longest{Timeout: longest})
	id := s.must(shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Slot: 7, Timeout: 60_000}).Session
	next := s.renewed()
	want(next, shard.Longest{Timeout: 60_000, Session: id})
	want(next.renewed(), shard.Longest{Timeout: 60_000, Session: id})
	next.elapsed += 60_000
	next.must(next.write(0, 0, 0, "time goes on"))
	want(next.renewed(), shard.Longest{Timeout: longest})
}

// TestAnOperatorEndsTheWait: immediately, and only for the current group.
func TestAnOperatorEndsTheWait(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	lost := s.session()
	end := func(of *survivor, group uint64) shard.Effect {
		return of.do(shard.Command{Kind: shard.CmdGroupWait, Term: of.term, Count: group, Flags: shard.FlagOperator})
	}
	s.want(end(s, 0), protocol.StatusStale)
	for _, begun := range []bool{false, true} {
		next := s.renewed()
		next.elapsed = 100
		if begun {
			next.beginWait(patience)
		}
		for _, group := range []uint64{0, 2} {
			next.want(end(next, group), protocol.StatusStale)
		}
		next.want(next.do(next.acquire(s.remote, 1)), protocol.StatusOverloaded)
		next.want(end(next, 1), protocol.StatusSuccess)
		next.must(next.acquire(s.remote, 1))
		if is := next.Liveness(lost); is != shard.Dead {
			t.Errorf("a session of before is %d", is)
		}
	}
}

// TestWhatTheWaitAcknowledgesIsNotCarriedOut: a late command whose number a lost replica has answered, and the session
// has acknowledged with a refused acquire.
func TestWhatTheWaitAcknowledgesIsNotCarriedOut(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	s.must(s.write(s.remote, 1, 0, "first"))
	next := s.renewed()
	c := next.acquire(s.remote, 3)
	c.Acked = 2
	next.want(next.do(c), protocol.StatusOverloaded)
	next.want(next.do(next.write(s.remote, 2, 1, "lost")), protocol.StatusStale)
	next.beginWait(1)
	next.elapsed = longest
	next.must(c)
}

// TestAShardIsMadeAnewFromNothing: from counters known to others.
func TestAShardIsMadeAnewFromNothing(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	empty := *s
	empty.Machine = machine.New(machine.TestKinds, machine.Options{Shard: 3, Slots: lowerSlots})
	counted := shard.Counters{LastOrder: 1 << 55, LastRevision: 1 << 50, LastSession: 1 << 40}
	next := empty.renewed(func(r *machine.Renewal) { r.Counted = counted })
	if is := next.Liveness(shard.NewSessionID(7, counted.LastSession)); is != shard.Unknown {
		t.Errorf("a session of before is %d", is)
	}
	next.beginWait(1)
	next.elapsed = longest
	next.must(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: s.lock, Count: 1})
	id := next.session()
	e := next.must(next.acquire(id, 1))
	if e.Order <= counted.LastOrder || id.Counter() <= counted.LastSession {
		t.Errorf("order id %d, session %d", e.Order, id.Counter())
	}
	if d := next.State().Semaphores[0].Revision; d <= counted.LastRevision {
		t.Errorf("revision %d", d)
	}
}

// TestGroupsOfAShardOnlyRise: a rebuild into the current group is refused, and so is one with exhausted counters.
func TestGroupsOfAShardOnlyRise(t *testing.T) {
	s := newSurvivor(t, level.Newest).renewed().renewed()
	if _, err := s.Renew(machine.Renewal{Group: 2, Jump: machine.JumpOver(0)}); err == nil {
		t.Error("a group has followed itself")
	}
	if _, err := s.Renew(machine.Renewal{Group: 3, Jump: machine.Jump{Orders: 1 << 60}}); err == nil {
		t.Error("order ids have no end")
	}
}

// TestADropGoesOnAfterARenewal: the remote sessions' holdings in the node end with it, and cannot be used.
func TestADropGoesOnAfterARenewal(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	s.must(s.write(s.remote, 1, 0, "x"))
	s.must(shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 1}) // the lock
	next := s.renewed()
	next.want(next.do(next.acquire(s.remote, 2)), protocol.StatusNotFound)
	next.must(shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 9})
	if n := next.Count(); n.Nodes != 0 || n.Sessions != 0 {
		t.Errorf("%+v", n)
	}
}

// TestARenewedShardServesNoSlotOfAnother: the survivor lags behind the moves on record. It drops a slot that has left.
// A slot whose move is in progress is sealed, and comes back if the other shard refuses it.
func TestARenewedShardServesNoSlotOfAnother(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	s.must(s.write(s.remote, 1, 0, "kept"))
	slot := shard.SlotOf(1, s.lock)
	there := func(of *survivor) int { return len(of.State().Semaphores) }
	for name, c := range map[string]struct {
		record machine.SlotRecord
		want   slots.State
	}{
		"no move":      {machine.SlotRecord{Slot: slot, Owner: slots.Owner{Shard: 3}}, slots.Owned},
		"returned":     {machine.SlotRecord{Slot: slot, Owner: slots.Owner{Shard: 3, Generation: 4}}, slots.Owned},
		"left":         {machine.SlotRecord{Slot: slot, Owner: slots.Owner{Shard: 4, Generation: 3}}, slots.Released},
		"is to arrive": {machine.SlotRecord{Slot: 4000, Owner: slots.Owner{Shard: 4, Generation: 3}}, slots.None},
		"may have left": {machine.SlotRecord{Slot: slot, Owner: slots.Owner{Shard: 3},
			Into: slots.Owner{Shard: 4, Generation: 3}}, slots.Sealed},
	} {
		next := s.renewed(func(r *machine.Renewal) { r.Slots = []machine.SlotRecord{c.record} })
		x := next.Slot(c.record.Slot)
		if x.State != c.want {
			t.Errorf("%s: the slot is %v", name, x.State)
		}
		if serves := x.State == slots.Owned || c.want == slots.None; serves != (there(next) == 1) {
			t.Errorf("%s: the slot is %v, and there are %d semaphores", name, x.State, there(next))
		}
		if x.State == slots.Sealed {
			next.must(shard.Command{Kind: shard.CmdSlotCancel, Slot: slot, Count: 3})
			if got := next.Slot(slot); got.State != slots.Owned || got.Generation != 4 || there(next) != 1 {
				t.Errorf("%s: after the cancel the slot is %+v", name, got)
			}
		}
	}
	if s.Slot(slot).State != slots.Owned || there(s) != 1 {
		t.Error("the survivor's machine has changed")
	}
}

// TestAShardMadeAnewFromNothingHasItsSlotsOnRecord: under their generations. A slot that may have left is sealed.
func TestAShardMadeAnewFromNothingHasItsSlotsOnRecord(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	s.Machine = machine.New(machine.TestKinds, machine.Options{Shard: 3, Slots: lowerSlots})
	next := s.renewed(func(r *machine.Renewal) {
		r.Empty = true
		r.Slots = []machine.SlotRecord{
			{Slot: 4000, Owner: slots.Owner{Shard: 3, Generation: 7}},
			{Slot: 4001, Owner: slots.Owner{Shard: 3, Generation: 1}, Into: slots.Owner{Shard: 4, Generation: 3}},
			{Slot: 4002, Owner: slots.Owner{Shard: 4, Generation: 1}},
		}
	})
	if x := next.Slot(4000); x.State != slots.Owned || x.Generation != 7 {
		t.Errorf("a slot on record is %+v", x)
	}
	if x := next.Slot(4001); x.State != slots.Sealed || x.Generation != 3 || x.To != 4 {
		t.Errorf("a slot that may have left is %+v", x)
	}
	if x := next.Slot(4002); x.State != slots.None {
		t.Errorf("another shard's slot is %+v", x)
	}
}

// TestARenewedShardRefusesNoSlotWhileItWaits: the lost replicas may have opened the slot.
func TestARenewedShardRefusesNoSlotWhileItWaits(t *testing.T) {
	next := newSurvivor(t, level.Newest).renewed()
	refuse := shard.Command{Kind: shard.CmdSlotRefuse, Slot: 4000, Count: 1, Number: 4}
	next.want(next.do(refuse), protocol.StatusOverloaded)
	next.beginWait(1)
	next.elapsed = longest
	next.want(next.do(refuse), protocol.StatusPreconditionFailed)
}
