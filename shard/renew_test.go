package shard_test

import (
	"slices"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

const quiet, unknown = 2_000, 30_000 // milliseconds

// lowerSlots are the slots of the shard.
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
	*shard.Machine
	t       *testing.T
	term    uint64
	elapsed uint64
	guest   shard.SessionID
	lock    []byte
}

// newSurvivor returns a machine of a level with a lock of limit 1.
func newSurvivor(t *testing.T, at level.Level) *survivor {
	t.Helper()
	if level.Newest < 10 {
		t.Skip("no groups below level 10")
	}
	s := &survivor{
		t: t, Machine: shard.New(shard.Options{Shard: 3, Slots: lowerSlots}), lock: nameHere("lock"),
		guest: shard.NewSessionID(shard.Slots-1, 5),
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

// write replaces the data of the lock.
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

// renewed makes the shard anew, under a leader of the new group.
func (s *survivor) renewed(change ...func(*shard.Renewal)) *survivor {
	s.t.Helper()
	r := shard.Renewal{
		Group: s.Group().Number + 1, Jump: shard.JumpOver(0), Quiet: quiet, Unknown: unknown, Committed: s.Machine,
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

// TestNoNumberIsCarriedOutTwiceAfterARenewal: what a guest sends again is answered as before, but for what the guest
// owned and waited for.
func TestNoNumberIsCarriedOutTwiceAfterARenewal(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	other := s.guest + 1
	s.must(s.write(s.guest, 1, 0, "seen"))
	s.must(s.acquire(s.guest, 2))
	written := s.must(s.write(s.guest, 3, 1, "first"))
	s.must(s.acquire(other, 1))
	s.must(s.write(0, 0, 0, "later"))

	next := s.renewed()
	before := next.Digest()
	if e := next.must(next.write(s.guest, 3, 1, "first")); e.Revision != written.Revision {
		t.Errorf("the write is answered with revision %d, not %d", e.Revision, written.Revision)
	}
	next.want(next.do(next.write(s.guest, 1, 0, "seen")), protocol.StatusStale)
	for id, number := range map[shard.SessionID]uint64{s.guest: 2, other: 1} {
		e := next.do(next.acquire(id, number))
		if next.want(e, protocol.StatusAborted); e.Order != 0 || e.Flags != 0 {
			t.Errorf("the acquire of %v is answered with %+v", id, e)
		}
	}
	if next.Digest() != before {
		t.Error("a repetition has changed something")
	}
	if losses := next.Losses([]shard.SessionID{s.guest, other}, nil); len(losses) != 2 || losses[0].Count <= 1000 {
		t.Errorf("the guests count %v losses", losses)
	}
}

// TestARenewedShardGrantsNothingForAWhile: an acquire is refused until the time of the shard has come, under its
// number, with the time that is left. Data changes meanwhile. The next fence is above all of the group before.
func TestARenewedShardGrantsNothingForAWhile(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	s.must(s.acquire(s.guest, 1))
	next := s.renewed()
	next.elapsed = 500
	for range 2 {
		e := next.do(next.acquire(s.guest, 2))
		if next.want(e, protocol.StatusOverloaded); e.Timeout != quiet-500 || e.Body != shard.QuietReason {
			t.Errorf("refused for %d ms with %q", e.Timeout, e.Body)
		}
	}
	next.want(next.do(shard.Command{Kind: shard.CmdAcquire, Node: 1, Name: nameHere("new"), Session: s.guest,
		Number: 2, Count: 1, Flags: shard.FlagEphemeral}), protocol.StatusOverloaded)
	next.must(next.write(0, 0, 0, "meanwhile"))
	next.must(shard.Command{Kind: shard.CmdRelease, Node: 1, Name: s.lock, Session: s.guest, Number: 2})
	next.elapsed = quiet
	e := next.must(next.acquire(s.guest, 3))
	if e.Flags&shard.FlagAcquired == 0 || e.Order <= shard.OrderID(1)<<50 || e.Order%(shard.MaxShard+1) != 3 {
		t.Errorf("acquired as %d, flags %b", e.Order, e.Flags)
	}
}

// TestTheQuietLastsAsLongAsAnOwnerMayBelieve: an owner that reaches no host believes for the timeout of its session.
func TestTheQuietLastsAsLongAsAnOwnerMayBelieve(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	idle := s.renewed().Group()
	if idle.QuietUntil-idle.Began != quiet {
		t.Errorf("quiet for %d ms where no session of the home owns anything", idle.QuietUntil-idle.Began)
	}
	s.must(s.acquire(s.session(), 1))
	if g := s.renewed().Group(); g.QuietUntil-g.Began != 5_000+quiet/2 {
		t.Errorf("quiet for %d ms beside an owner with a timeout of 5 s", g.QuietUntil-g.Began)
	}
}

// TestWhatTheQuietAcknowledgesIsNotCarriedOut: a number that a lost replica has answered, and that the session has
// acknowledged with a refused acquire, comes late.
func TestWhatTheQuietAcknowledgesIsNotCarriedOut(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	s.must(s.write(s.guest, 1, 0, "first"))
	next := s.renewed()
	c := next.acquire(s.guest, 3)
	c.Acked = 2
	next.want(next.do(c), protocol.StatusOverloaded)
	next.want(next.do(next.write(s.guest, 2, 1, "lost")), protocol.StatusStale)
	next.elapsed = quiet
	next.must(c)
}

// TestAShardIsMadeAnewFromNothing: from the counters that others know.
func TestAShardIsMadeAnewFromNothing(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	empty := *s
	empty.Machine = shard.New(shard.Options{Shard: 3, Slots: lowerSlots})
	counted := shard.Counters{LastOrder: 1 << 55, LastRevision: 1 << 50, LastSession: 1 << 40}
	next := empty.renewed(func(r *shard.Renewal) { r.Committed, r.Counted = nil, counted })
	if next.Level() < 10 {
		t.Errorf("level %d", next.Level())
	}
	next.elapsed = quiet
	next.must(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: s.lock, Count: 1})
	id := next.session()
	e := next.must(next.acquire(id, 1))
	if e.Order <= counted.LastOrder || id.Counter() <= counted.LastSession {
		t.Errorf("order id %d, session %d", e.Order, id.Counter())
	}
	if d := next.State().Semaphores[0].Revision; d <= counted.LastRevision {
		t.Errorf("revision %d", d)
	}
	if is := next.Liveness(shard.NewSessionID(7, counted.LastSession)); is != shard.Unknown {
		t.Errorf("a session of before is %d", is)
	}
}

// TestAShardOfALowerLevelIsMadeAnewAtTheLevelOfGroups: without a group its bytes have none.
func TestAShardOfALowerLevelIsMadeAnewAtTheLevelOfGroups(t *testing.T) {
	s := newSurvivor(t, 9)
	s.must(s.acquire(s.guest, 1))
	if next := s.renewed(); next.Level() != 10 || next.Group().Number != 1 {
		t.Errorf("level %d, %+v", next.Level(), next.Group())
	}
	if s.Group() != (shard.Group{}) {
		t.Errorf("%+v", s.Group())
	}
}

// TestGroupsOfAShardOnlyRise: a renewal into the group that is there is refused, and so is one without room for a jump.
func TestGroupsOfAShardOnlyRise(t *testing.T) {
	s := newSurvivor(t, level.Newest).renewed().renewed()
	if _, err := s.Renew(shard.Renewal{Group: 2, Jump: shard.JumpOver(0)}); err == nil {
		t.Error("a group has followed itself")
	}
	if _, err := s.Renew(shard.Renewal{Group: 3, Jump: shard.Jump{Orders: 1 << 60}}); err == nil {
		t.Error("order ids have no end")
	}
}

// TestADropGoesOnAfterARenewal: sessions of the node end with it, and nothing of it is used.
func TestADropGoesOnAfterARenewal(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	id := s.session()
	s.must(shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 1}) // the lock
	next := s.renewed()
	next.want(next.do(next.acquire(s.guest, 1)), protocol.StatusNotFound)
	next.must(shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 9})
	if n := next.Count(); n.Nodes != 0 || n.Sessions != 0 || next.Liveness(id) != shard.Dead {
		t.Errorf("%+v", n)
	}
}
