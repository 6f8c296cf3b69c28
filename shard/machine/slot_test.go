package machine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
	"github.com/signalbox/signalbox/shard/slots"
)

// twoShards are two machines that exchange slots: 0 owns all slots, and 1 the last one only.
type twoShards struct {
	testing.TB
	m       [2]*Machine
	elapsed uint64
	out     shard.Effects
}

func newTwoShards(t testing.TB) *twoShards {
	ts := &twoShards{TB: t}
	var last shard.SlotSet
	last.Add(shard.Slots-1, shard.Slots-1)
	ts.m[0], ts.m[1] = New(TestKinds, Options{Shard: 1}), New(TestKinds, Options{Shard: 2, Slots: last})
	for i := range ts.m {
		ts.must(i, shard.Command{Kind: shard.CmdLead, Term: 1})
		ts.must(i, shard.Command{Kind: shard.CmdSlotSupersede, Slot: shard.Slots - 1, Count: 1, Number: 9})
	}
	return ts
}

// do applies a command and returns its result.
func (ts *twoShards) do(i int, c shard.Command) *shard.Effect {
	c.Level = level.Newest
	b := shard.Batch{Commands: []shard.Command{c}}
	if b.Stamp.Term = max(ts.m[i].Term(), c.Term); b.Stamp.Term > 0 {
		b.Stamp.Elapsed = ts.elapsed
	}
	ts.out.Reset()
	ts.m[i].Apply(&b, &ts.out)
	for k := range ts.out.List {
		if ts.out.List[k].Kind == shard.EffectResult {
			return &ts.out.List[k]
		}
	}
	panic("no result")
}

func (ts *twoShards) want(status protocol.Status, e *shard.Effect) *shard.Effect {
	ts.Helper()
	if e.Status != status {
		ts.Fatalf("answered %v %q, not %v", e.Status, e.Body, status)
	}
	return e
}

func (ts *twoShards) must(i int, c shard.Command) *shard.Effect {
	ts.Helper()
	return ts.want(protocol.StatusSuccess, ts.do(i, c))
}

// effects returns the names of the last command's effects, except the result.
func (ts *twoShards) effects() (list []string) {
	for _, e := range ts.out.List {
		if e.Kind != shard.EffectResult {
			list = append(list, e.Kind.String())
		}
	}
	return list
}

func (ts *twoShards) session(i int, slot shard.Slot) shard.SessionID {
	ts.Helper()
	return ts.must(i, shard.Command{Kind: shard.CmdSessionCreate, Slot: slot, Node: 1, Timeout: 9000,
		Key: []byte("key"), Data: []byte("details")}).Session
}

// seal seals a slot at shard i for the other, and returns the command that opens it.
func (ts *twoShards) seal(i int, slot shard.Slot) shard.Command {
	ts.Helper()
	g := max(ts.m[0].Slot(slot).Seen, ts.m[1].Slot(slot).Seen) + 2
	to := uint64(2 - i)
	ts.must(i, shard.Command{Kind: shard.CmdSlotSeal, Slot: slot, Count: g, Number: to, Flags: shard.FlagForce})
	return shard.Command{Kind: shard.CmdSlotOpen, Slot: slot, Count: g, Number: uint64(i + 1),
		Body: ts.m[i].Slot(slot).Content.Append(nil)}
}

// move moves a slot from shard i to the other.
func (ts *twoShards) move(i int, slot shard.Slot) {
	ts.Helper()
	open := ts.seal(i, slot)
	ts.must(1-i, open)
	release := shard.Command{Kind: shard.CmdSlotRelease, Slot: slot, Count: open.Count}
	ts.must(i, release)
	release.Flags = shard.FlagForget
	ts.must(i, release)
	for _, m := range ts.m {
		if err := machinetest.CheckLeaks(m); err != nil {
			ts.Fatal(err)
		}
		machinetest.Copy(ts.TB, m, New(TestKinds, Options{}))
	}
}

// nameIn returns a name in a slot of node 1.
func nameIn(slot shard.Slot) []byte {
	for i := 0; ; i++ {
		if name := fmt.Appendf(nil, "name-%d", i); shard.SlotOf(1, name) == slot {
			return name
		}
	}
}

func write(id shard.SessionID, number, acked uint64, name []byte) shard.Command {
	return shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Session: id, Number: number, Acked: acked, Name: name,
		Count: 1}
}

func acquire(id shard.SessionID, number uint64, name []byte, timeout uint64) shard.Command {
	return shard.Command{Kind: shard.CmdAcquire, Node: 1, Session: id, Number: number, Acked: number - 1, Name: name,
		Count: 1, Timeout: timeout}
}

// TestAStaleAnswerStaysTrueAfterAMove: case 46. A number for slot 10 was answered STALE, and never applied.
func TestAStaleAnswerStaysTrueAfterAMove(t *testing.T) {
	ts := newTwoShards(t)
	id := ts.session(0, 5)
	ts.must(0, write(id, 7, 0, nameIn(20)))
	late := write(id, 3, 0, nameIn(10))
	ts.want(protocol.StatusStale, ts.do(0, late))
	ts.move(0, 10)
	ts.want(protocol.StatusMoved, ts.do(0, late))
	ts.want(protocol.StatusStale, ts.do(1, late))
	if n := ts.m[1].Count().Objects; n != 0 {
		t.Errorf("a late copy made %d objects", n)
	}
}

// TestAReusedNumberHasNoSecondEffect: case 58. A caller used number 7 in both shards; each keeps its own answer.
func TestAReusedNumberHasNoSecondEffect(t *testing.T) {
	ts := newTwoShards(t)
	id := ts.session(0, 5)
	ts.move(0, 20)
	here, there := write(id, 7, 0, nameIn(10)), write(id, 7, 0, nameIn(20))
	ts.must(0, here)
	ts.must(1, there)
	ts.move(0, 10)
	ts.want(protocol.StatusSequenceReused, ts.do(1, here))
	revision := ts.m[1].Count().LastRevision
	ts.must(1, there)
	if now := ts.m[1].Count(); now.LastRevision != revision || now.Objects != 2 {
		t.Errorf("a repeated request had an effect: %+v", now)
	}
}

// TestSlotSetsAreExact: case 47. Sessions used 3, 5, 17 and all slots; slots move and come back, and replicas restart
// from snapshots: sets and slot snapshots are equal.
func TestSlotSetsAreExact(t *testing.T) {
	ts := newTwoShards(t)
	names := make(map[shard.Slot][]byte)
	for i := 0; len(names) < shard.Slots; i++ {
		name := fmt.Appendf(nil, "name-%d", i)
		names[shard.SlotOf(1, name)] = name
	}
	uses := []int{3, 5, 17, shard.Slots - 1}
	var ids []shard.SessionID
	for k, n := range uses {
		id := ts.session(0, shard.Slot(100+k))
		for slot := range n {
			ts.do(0, write(id, uint64(slot+1), uint64(slot), names[shard.Slot(slot)]))
		}
		ids = append(ids, id)
	}
	used := func(i int, id shard.SessionID) []shard.Slot {
		for _, s := range ts.m[i].State().Sessions {
			if s.ID == id {
				return s.Slots
			}
		}
		return nil
	}
	without := func(n int, gone ...shard.Slot) (list []shard.Slot) {
		for slot := range shard.Slot(n) {
			if !slices.Contains(gone, slot) {
				list = append(list, slot)
			}
		}
		return list
	}
	check := func(gone ...shard.Slot) {
		t.Helper()
		for k, id := range ids {
			if got, want := used(0, id), without(uses[k], gone...); !slices.Equal(got, want) {
				t.Errorf("session %d has used %v, not %v", k, got, want)
			}
			var there []shard.Slot
			for _, slot := range gone {
				if int(slot) < uses[k] {
					there = append(there, slot)
				}
			}
			if got := used(1, id); !slices.Equal(got, there) {
				t.Errorf("session %d has used %v at the other shard, not %v", k, got, there)
			}
		}
	}
	bytesOf := func(i int) uint64 { return ts.m[i].Usage(0).Bytes }
	check()
	before := bytesOf(0)
	for _, gone := range [][]shard.Slot{{0}, {0, 1}, {0, 1, 16}} {
		ts.move(0, gone[len(gone)-1])
		check(gone...)
	}
	for k, gone := range [][]shard.Slot{{1, 16}, {16}, {}} {
		ts.move(1, []shard.Slot{0, 1, 16}[k])
		check(gone...)
	}
	if now := bytesOf(0); now != before || bytesOf(1) != 0 {
		t.Errorf("%d bytes are used, and %d at the other shard; before it were %d", now, bytesOf(1), before)
	}
	replica := machinetest.Copy(t, ts.m[0], New(TestKinds, Options{}))
	first := ts.seal(0, 2)
	ts.m[0] = replica
	if second := ts.seal(0, 2); !bytes.Equal(first.Body, second.Body) {
		t.Error("a restored replica saves a slot differently")
	}
}

// TestASlotAboveTheLimitStaysWithItsSize: case 50.
func TestASlotAboveTheLimitStaysWithItsSize(t *testing.T) {
	ts := newTwoShards(t)
	name := nameIn(10)
	ts.must(0, shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1,
		Data: bytes.Repeat([]byte("x"), shard.MaxData)})
	seal := shard.Command{Kind: shard.CmdSlotSeal, Slot: 10, Count: 1, Number: 2}
	if e := ts.want(protocol.StatusStale, ts.do(0, seal)); !strings.Contains(e.Body, "the slot has 10486") ||
		!strings.Contains(e.Body, "and 1 records") {
		t.Errorf("the reason is %q", e.Body)
	}
	ts.move(0, 10) // with FlagForce
	if n := ts.m[1].Count().Objects; n != 1 {
		t.Errorf("%d objects have moved", n)
	}
}

// TestASessionFromBeforeTheJumpAttachesInARebuiltShard: case 49.
func TestASessionFromBeforeTheJumpAttachesInARebuiltShard(t *testing.T) {
	ts := newTwoShards(t)
	id := ts.session(0, 10)
	rebuilt, err := ts.m[1].Renew(Renewal{Group: 1, Jump: JumpOver(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	ts.m[1] = rebuilt
	ts.must(1, shard.Command{Kind: shard.CmdLead, Term: 1})
	open := ts.seal(0, 10)
	ts.want(protocol.StatusOverloaded, ts.do(1, open)) // the shard grants nothing yet
	ts.must(1, shard.Command{Kind: shard.CmdGroupWait, Term: 1, Count: 1, Timeout: 1000})
	ts.elapsed += 2000
	ts.must(1, open)
	if id.Counter() > ts.m[1].Group().Before || ts.m[1].Liveness(id) != shard.Alive {
		t.Errorf("session %v is %d", id, ts.m[1].Liveness(id))
	}
	ts.must(1, shard.Command{Kind: shard.CmdSessionUpdate, Session: id, Key: []byte("key"), Timeout: 5})
	ts.must(1, shard.Command{Kind: shard.CmdSessionEnd, Session: id})
	if is := ts.m[1].Liveness(id); is != shard.Dead {
		t.Errorf("the ended session is %d", is)
	}
}

// TestAMovedQueueKeepsOrderAndDeadlines: positions and order ids stay, and a wait ends once, when it would have ended.
func TestAMovedQueueKeepsOrderAndDeadlines(t *testing.T) {
	ts := newTwoShards(t)
	name := nameIn(10)
	owner, first, second := ts.session(0, 5), ts.session(0, 10), ts.session(0, 11)
	ts.must(0, write(owner, 1, 0, name))
	token := ts.must(0, acquire(owner, 2, name, 0)).Order
	ts.must(0, acquire(first, 1, name, 5000))
	ts.must(0, acquire(second, 1, name, shard.Forever))
	ts.elapsed += 2000
	ts.move(0, 10)
	if got := ts.must(1, acquire(second, 1, name, shard.Forever)); got.Flags != shard.FlagQueued {
		t.Errorf("a waiter that asks again gets %v", got)
	}
	if at, ok := ts.m[1].NextAlarm(); !ok || at != ts.elapsed+3000+2 {
		t.Errorf("the wait ends at %d: %v", at, ok)
	}
	ts.elapsed += 3000
	due := shard.Command{Kind: shard.CmdDue, Term: 1}
	for _, want := range [][]string{{"timed-out"}, nil} {
		ts.elapsed += 10
		if ts.must(1, due); !slices.Equal(ts.effects(), want) {
			t.Errorf("due are %v, not %v", ts.effects(), want)
		}
	}
	ts.must(1, shard.Command{Kind: shard.CmdRelease, Node: 1, Session: owner, Number: 3, Acked: 2, Name: name,
		Order: token})
	if got := ts.effects(); !slices.Equal(got, []string{"granted", "changed"}) {
		t.Errorf("the release has the effects %v", got)
	}
	ts.must(1, acquire(owner, 4, name, shard.Forever))
	if got := ts.must(1, acquire(second, 1, name, shard.Forever)); got.Flags != shard.FlagAcquired {
		t.Errorf("the next in the queue got %v", got)
	}
}

// TestAnAlarmIsDueOnceAfterAMove: the alarm would have been due while its slot was sealed.
func TestAnAlarmIsDueOnceAfterAMove(t *testing.T) {
	ts := newTwoShards(t)
	name, due := nameIn(10), shard.Command{Kind: shard.CmdDue, Term: 1}
	ts.must(0, write(ts.session(0, 5), 1, 0, name))
	ts.must(0, acquire(ts.session(0, 6), 1, name, 0))
	ts.must(0, acquire(ts.session(0, 7), 1, name, 1000))
	open := ts.seal(0, 10)
	ts.elapsed += 2000
	if ts.must(0, due); len(ts.effects()) > 0 {
		t.Errorf("due at the old shard are %v", ts.effects())
	}
	ts.must(1, open)
	for _, want := range [][]string{{"timed-out"}, nil} {
		ts.elapsed += 2000
		if ts.must(1, due); !slices.Equal(ts.effects(), want) {
			t.Errorf("due at the new shard are %v, not %v", ts.effects(), want)
		}
		if ts.must(0, due); len(ts.effects()) > 0 {
			t.Errorf("due at the old shard are %v", ts.effects())
		}
	}
}

// TestALateCopyChangesNothingWhereTheSessionLived: the session's home has moved away, and it holds nothing here.
func TestALateCopyChangesNothingWhereTheSessionLived(t *testing.T) {
	ts := newTwoShards(t)
	id, name := ts.session(0, 10), nameIn(20)
	late := write(id, 1, 0, name)
	ts.must(0, late)
	ts.must(0, shard.Command{Kind: shard.CmdSemaphoreDelete, Node: 1, Session: id, Number: 2, Acked: 1, Name: name})
	ts.move(0, 10)
	ts.want(protocol.StatusStale, ts.do(0, late))
	if n := ts.m[0].Count(); n.Objects != 0 || n.RemoteSessions != 1 {
		t.Errorf("after a late copy: %+v", n)
	}
}

// TestALateAcquireAfterAMoveHasNoOwner: the acquire was answered, acknowledged and released before.
func TestALateAcquireAfterAMoveHasNoOwner(t *testing.T) {
	ts := newTwoShards(t)
	id, name := ts.session(0, 5), nameIn(10)
	ts.must(0, write(id, 1, 0, name))
	late := acquire(id, 2, name, 0)
	ts.must(0, late)
	ts.must(0, shard.Command{Kind: shard.CmdRelease, Node: 1, Session: id, Number: 3, Acked: 2, Name: name})
	ts.move(0, 10)
	ts.want(protocol.StatusMoved, ts.do(0, late))
	if e := ts.must(1, late); e.Flags != 0 || e.Order != 0 {
		t.Errorf("a late acquire is answered with %v, %d", e.Flags, e.Order)
	}
	if n := ts.m[1].Count().Links; n != 0 {
		t.Errorf("a late acquire has %d holdings", n)
	}
}

// TestASlotThatManySessionsUsedIsSmall: 20,000 sessions have locked a name in the slot, and hold nothing.
func TestASlotThatManySessionsUsedIsSmall(t *testing.T) {
	ts := newTwoShards(t)
	name, other := nameIn(10), nameIn(20)
	ts.must(0, shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1})
	const sessions = 20_000
	for i := range shard.Slot(sessions) {
		id := ts.session(0, 20+i%4000)
		ts.must(0, acquire(id, 1, name, 0))
		ts.must(0, shard.Command{Kind: shard.CmdRelease, Node: 1, Session: id, Number: 2, Acked: 1, Name: name})
		ts.do(0, write(id, 3, 2, other)) // acknowledges the release
	}
	seal := shard.Command{Kind: shard.CmdSlotSeal, Slot: 10, Count: 1, Number: 2} // without FlagForce
	ts.must(0, seal)
	content := ts.m[0].Slot(10).Content
	if content.Records < sessions || len(content.Bytes) > 1<<19 {
		t.Errorf("%d records have %d bytes", content.Records, len(content.Bytes))
	}
	ts.must(1, shard.Command{Kind: shard.CmdSlotOpen, Slot: 10, Count: 1, Number: 1, Body: content.Append(nil)})
	if n := ts.m[1].Count().RemoteSessions; n != sessions {
		t.Errorf("%d sessions have a record where the slot is", n)
	}
}

// TestATokenAfterAMoveIsAboveAllBefore: a name's order ids and revisions grow across shards.
func TestATokenAfterAMoveIsAboveAllBefore(t *testing.T) {
	ts := newTwoShards(t)
	id, name := ts.session(0, 5), nameIn(10)
	ts.must(0, write(id, 1, 0, name))
	last, number := shard.OrderID(0), uint64(1)
	for k := range 1000 {
		at := k % 2
		number += 2
		token := ts.must(at, acquire(id, number, name, 0)).Order
		if token <= last || int(token&shard.MaxShard) != at+1 {
			t.Errorf("token %d of shard %d follows %d", token, at+1, last)
		}
		last = token
		ts.must(at, shard.Command{Kind: shard.CmdRelease, Node: 1, Session: id, Number: number + 1, Name: name})
		ts.move(at, 10)
	}
}

// TestAHoldingOfAnEndedSessionIsReleasedAfterAMove: a session ends at its home while its holding is between the shards.
func TestAHoldingOfAnEndedSessionIsReleasedAfterAMove(t *testing.T) {
	ts := newTwoShards(t)
	ts.move(0, 5)
	id, name := ts.session(1, 5), nameIn(10)
	ts.must(0, shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 1})
	ts.must(0, acquire(id, 1, name, 0))
	open := ts.seal(0, 10)
	ts.must(1, shard.Command{Kind: shard.CmdSessionEnd, Session: id})
	ts.must(1, open)
	if ts.m[1].Pending() != 1 || ts.m[1].Liveness(id) != shard.Dead {
		t.Errorf("%d pending, the session is %d", ts.m[1].Pending(), ts.m[1].Liveness(id))
	}
	ts.must(1, shard.Command{Kind: shard.CmdContinue})
	if n := ts.m[1].Count(); n.Links != 0 || n.Sessions != 0 {
		t.Errorf("after the release: %+v", n)
	}
}

// TestALostHoldingIsReportedWhenTheHomeArrives: a session lost a holding in a shard, and its slot moves there.
func TestALostHoldingIsReportedWhenTheHomeArrives(t *testing.T) {
	ts := newTwoShards(t)
	id, name := ts.session(0, 10), nameIn(20)
	ts.move(0, 20)
	ts.must(1, write(id, 1, 0, name))
	ts.must(1, acquire(id, 2, name, 0))
	ts.must(1, shard.Command{Kind: shard.CmdSemaphoreDelete, Node: 1, Name: name, Flags: shard.FlagForce})
	open := ts.seal(0, 10)
	ts.must(1, open)
	if got := ts.effects(); !slices.Equal(got, []string{"slot-arrived", "check-holdings"}) {
		t.Errorf("the open has the effects %v", got)
	}
	if e := ts.out.List[len(ts.out.List)-1]; e.Session != id || e.Limit != 1 {
		t.Errorf("the effect is %+v", e)
	}
	if list := ts.m[1].SessionsAt(10, nil); len(list) != 1 || list[0].ID != id || list[0].Timeout != 9000 {
		t.Errorf("at home in the slot are %+v", list)
	}
	if s := ts.m[1].State().Sessions[0]; s.Losses != 0 || !s.Home || s.Key != "key" || s.Timeout != 9000 {
		t.Errorf("the session is %+v", s)
	}
}

// TestASealWaitsForADrop: a slot with content of a node that is being dropped stays. A slot that arrives after the drop
// shows its node.
func TestASealWaitsForADrop(t *testing.T) {
	ts := newTwoShards(t)
	for range 2 {
		ts.session(0, 10)
	}
	open := ts.seal(0, 10)
	ts.must(1, open)
	if got := ts.effects(); !slices.Equal(got, []string{"slot-arrived", "node-seen"}) {
		t.Errorf("the open has the effects %v", got)
	}
	ts.must(1, shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 1})
	seal := shard.Command{Kind: shard.CmdSlotSeal, Slot: 10, Count: open.Count + 2, Number: 1}
	if e := ts.want(protocol.StatusOverloaded, ts.do(1, seal)); e.Body != dropped {
		t.Errorf("the reason is %q", e.Body)
	}
	ts.must(1, shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 1})
	ts.must(1, seal)
}

// TestAnOpenAboveAQuotaIsRefused: for a node, and for the shard, where sealed slots count.
func TestAnOpenAboveAQuotaIsRefused(t *testing.T) {
	for _, c := range []struct {
		node  shard.NodeID
		bytes uint64
		fits  bool
	}{{1, 1000, false}, {1, 10_000, true}, {0, 1000, false}, {0, 7000, false}, {0, 20_000, true}} {
		ts := newTwoShards(t)
		create := func(slot shard.Slot) {
			ts.must(0, shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: nameIn(slot), Count: 1,
				Data: make([]byte, 4000)})
		}
		create(10)
		create(11)
		ts.move(0, 10)
		if c.node == 0 {
			ts.seal(1, 10)
		}
		ts.must(1, shard.Command{Kind: shard.CmdNodeLimits, Node: c.node, Bytes: c.bytes})
		open := ts.seal(0, 11)
		want := protocol.StatusPreconditionFailed
		if c.fits {
			want = protocol.StatusSuccess
		}
		if e := ts.want(want, ts.do(1, open)); !c.fits && !strings.Contains(e.Body, "-bytes quota would be exceeded") {
			t.Errorf("the reason is %q", e.Body)
		}
	}
}

// TestAReturnedSlotHasWhatWasSealed: the other shard lost the open.
func TestAReturnedSlotHasWhatWasSealed(t *testing.T) {
	ts := newTwoShards(t)
	id, name := ts.session(0, 10), nameIn(10)
	ts.must(0, write(id, 1, 0, name))
	ts.must(0, acquire(id, 2, name, 0))
	was := ts.m[0].State()
	open := ts.seal(0, 10)
	ts.must(0, shard.Command{Kind: shard.CmdSlotRelease, Slot: 10, Count: open.Count})
	ts.must(0, shard.Command{Kind: shard.CmdSlotReturn, Slot: 10, Count: open.Count, Number: open.Count + 2})
	is := ts.m[0].State()
	if len(is.Semaphores) != 1 || is.Semaphores[0].Links[0] != was.Semaphores[0].Links[0] ||
		is.Sessions[0].Applied != 2 || is.Slots[0].Generation != open.Count+2 {
		t.Errorf("%+v came back as %+v", was, is)
	}
}

// TestManyAnswersAreAcceptedAndThenRefused: a session with answers in two shards may have more than the limit after a
// move. New mutations are refused until it acknowledges some, and a snapshot restores.
func TestManyAnswersAreAcceptedAndThenRefused(t *testing.T) {
	ts := newTwoShards(t)
	id := ts.session(0, 5)
	ts.move(0, 20)
	fill := func(i int, name []byte) {
		for n := range uint64(shard.MaxUnacknowledged) {
			ts.do(i, write(id, uint64(i)*5000+n+1, 0, name))
		}
	}
	fill(0, nameIn(10))
	fill(1, nameIn(20))
	ts.move(0, 10)
	if n := len(ts.m[1].State().Sessions[0].Answers); n != 2*shard.MaxUnacknowledged {
		t.Errorf("the session has %d answers", n)
	}
	ts.want(protocol.StatusOverloaded, ts.do(1, write(id, 9000, 0, nameIn(10))))
	ts.want(protocol.StatusOverloaded, ts.do(1, write(id, 9000, 500, nameIn(10))))
	ts.want(protocol.StatusAlreadyExists, ts.do(1, write(id, 9000, 5500, nameIn(10))))
}

// TestSealedContentIsInSnapshotsAndDigests: a replica that is restored while a slot is sealed offers the same bytes.
func TestSealedContentIsInSnapshotsAndDigests(t *testing.T) {
	ts := newTwoShards(t)
	id := ts.session(0, 10)
	ts.must(0, write(id, 1, 0, nameIn(10)))
	before := ts.m[0].Digest()
	open := ts.seal(0, 10)
	ts.must(0, write(id, 2, 1, nameIn(20))) // acknowledges what is sealed
	restored := machinetest.Copy(t, ts.m[0], New(TestKinds, Options{}))
	if restored.Digest() != ts.m[0].Digest() || restored.Digest() == before {
		t.Error("the digest does not have the sealed slot")
	}
	if !bytes.Equal(restored.Slot(10).Content.Append(nil), open.Body) {
		t.Error("a restored replica offers other bytes")
	}
	ts.m[0] = restored
	ts.must(0, shard.Command{Kind: shard.CmdSlotCancel, Slot: 10, Count: open.Count})
	if owned, changes := restored.Slots(); !owned.Has(10) || changes != 3 || restored.Count().Objects != 2 {
		t.Errorf("after the cancel: changes %d, %+v", changes, restored.Count())
	}
	if way, to := ts.m[0].Route(slots.Request{Slot: 10}); way != slots.Serve || to != (slots.Owner{}) {
		t.Errorf("a request is routed %v %v", way, to)
	}
}

// FuzzOpen: whatever an open contains, it is merged or refused, and the replica goes on and restarts.
func FuzzOpen(f *testing.F) {
	ts := newTwoShards(f)
	id, other := ts.session(0, 10), ts.session(0, 5)
	name := nameIn(10)
	ts.must(0, write(id, 1, 0, name))
	ts.must(0, acquire(id, 2, name, 0))
	ts.must(0, acquire(other, 1, name, 5000))
	ts.do(0, write(ts.session(0, 6), 1, 0, name))
	third := ts.session(0, 7)
	ts.do(0, write(third, 1, 0, name))
	ts.do(0, write(third, 2, 1, nameIn(20)))
	ts.must(0, shard.Command{Kind: cmdRing, Node: 1, Name: fmt.Appendf(nil, "bell-%d", bellIn(10)), Timeout: 100})
	ts.elapsed = 50
	open := ts.seal(0, 10)
	sn, err := slots.Parse(open.Body)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sn.Bytes, sn.Records, sn.Now, sn.LastOrder, sn.LastRevision, sn.LastSession)
	f.Add([]byte{0, 0, 0, 0}, uint64(0), uint64(0), uint64(0), uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, content []byte, records, now, order, revision, session uint64) {
		ts := newTwoShards(t)
		ts.move(0, 5)
		ts.move(0, 7)
		ts.must(1, shard.Command{Kind: shard.CmdSessionCreate, Slot: 5, Node: 1})
		fuzzed := sealedBytes(content, records, now, order, revision, session)
		ts.elapsed = 30
		c := shard.Command{Kind: shard.CmdSlotOpen, Slot: 10, Count: 9, Number: 1, Body: fuzzed}
		e := ts.do(1, c)
		if e.Status != protocol.StatusSuccess && e.Status != protocol.StatusPreconditionFailed {
			t.Fatalf("answered %v", e.Status)
		}
		for _, then := range []shard.Command{
			{Kind: shard.CmdContinue}, {Kind: shard.CmdSessionCreate, Slot: 10, Node: 1},
			{Kind: shard.CmdDue, Term: 1}, {Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("x"), Count: 1},
			{Kind: shard.CmdSlotSeal, Slot: 10, Count: 19, Number: 1, Flags: shard.FlagForce},
			{Kind: shard.CmdSlotCancel, Slot: 10, Count: 19}, {Kind: shard.CmdNodeDrop, Node: 1, Count: 9},
		} {
			ts.elapsed += 1000
			ts.do(1, then)
		}
		copied := machinetest.Copy(t, ts.m[1], New(TestKinds, Options{}))
		if copied.Digest() != ts.m[1].Digest() {
			t.Error("a replica that restarts is another")
		}
		if err := machinetest.CheckLeaks(ts.m[1]); err != nil {
			t.Error(err)
		}
	})
}

// bellIn returns n so that bell-n is in a slot of node 1.
func bellIn(slot shard.Slot) (n int) {
	for shard.SlotOf(1, fmt.Appendf(nil, "bell-%d", n)) != slot {
		n++
	}
	return n
}

// sealedBytes returns an encoded slot snapshot with the right digest.
func sealedBytes(content []byte, records, now, order, revision, session uint64) []byte {
	sn := slots.Snapshot{Level: level.Newest, Now: now, LastOrder: order, LastRevision: revision, LastSession: session,
		Records: records, Bytes: content}
	sn.Sign()
	return sn.Append(nil)
}
