package machine

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// refOf names a semaphore.
func refOf(n shard.NodeID, name []byte) shard.Ref {
	return shard.Ref{Kind: shard.KindSemaphore, Node: n, Name: string(name)}
}

func clubRef(name, view string) shard.Ref {
	return shard.Ref{Kind: kindClub, Node: 1, Name: name, View: view}
}

// clubBed is a bed of a shard that may hold clubs.
func clubBed(t testing.TB, sessions int) *bed {
	t.Helper()
	return newestBed(sessions)
}

func (b *bed) join(i int, name, team, mark string) *shard.Effect {
	b.as(i, shard.Command{Kind: cmdJoin, Name: []byte(name), Key: []byte(team), Data: []byte(mark)})
	return b.result()
}

// rowsOf draws the rows of a view.
func rowsOf(t *testing.T, m *Machine, r shard.Ref) (rows []string) {
	t.Helper()
	var d shard.Description
	if !m.Describe(r, shard.DescribeOptions{Rows: true}, &d) {
		t.Fatalf("there is no %+v", r)
	}
	for _, row := range d.Rows {
		rows = append(rows, string(row.Body))
	}
	return rows
}

func TestASessionHoldsThingsOfSeveralKinds(t *testing.T) {
	b := clubBed(t, 2)
	b.join(0, "club", "red", "a")
	lock := shard.Command{Kind: shard.CmdAcquire, Name: []byte("lock"), Count: shard.Exclusive,
		Flags: shard.FlagEphemeral, Timeout: shard.Forever}
	b.as(0, lock)
	b.join(1, "club", "blue", "b")
	b.as(1, lock)
	h, _ := b.m.ListHoldings(b.ids[0], 0, 0, nil)
	if len(h) != 2 || h[0].Name != "club" || h[0].Kind != kindClub || h[0].Role != "member" ||
		h[1].Name != "lock" || h[1].Kind != shard.KindSemaphore || h[1].Role != "owner" {
		t.Fatalf("%+v", h)
	}
	if v, _ := b.m.Session(b.ids[0]); v.Owns != 2 || v.Waits != 0 {
		t.Fatalf("%+v", v)
	}
	if c := b.m.Count(); c.OfKind[kindClub] != 1 || c.OfKind[shard.KindSemaphore] != 1 || c.Objects != 2 ||
		c.Links != 4 {
		t.Fatalf("%+v", c)
	}
	list, last, more := b.m.ListObjects(1, "", "", 1, nil)
	if len(list) != 1 || list[0].Name != "club" || list[0].Kind != kindClub || list[0].Links != 2 || !more {
		t.Fatalf("%+v", list)
	}
	if list, _, more = b.m.ListObjects(1, "", last, 9, nil); len(list) != 1 || list[0].Kind != shard.KindSemaphore ||
		more {
		t.Fatalf("%+v", list)
	}
	if list, _, more := SemaphoreReads.List(b.m, 1, "", "", 9, nil); len(list) != 1 || list[0].Name != "lock" || more {
		t.Fatalf("%+v", list)
	}

	// The end of the session takes both. What another session waits for is granted.
	b.do(shard.Command{Kind: shard.CmdLead, Term: 1})
	b.do(shard.Command{Kind: shard.CmdSessionsExpire, Term: 1, Sessions: b.ids[:1]})
	if !slices.ContainsFunc(b.out.List, func(e shard.Effect) bool { return e.Kind == shard.EffectGranted }) {
		t.Error("the lock was not granted")
	}
	if h, _ := b.m.ListHoldings(b.ids[1], 0, 0, nil); len(h) != 2 || !h[1].Owner {
		t.Fatalf("%+v", h)
	}
	if rows := rowsOf(t, b.m, clubRef("club", "")); len(rows) != 1 {
		t.Fatal("the session that expired is a member still:", rows)
	}

	b.do(shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 10})
	if c := b.m.Count(); b.result().Flags&shard.FlagMore != 0 || c.Objects+c.Links+c.Sessions != 0 ||
		c.OfKind != [shard.MaxKinds]int{} || b.m.Usage(0).Bytes != 0 {
		t.Fatalf("%+v", c)
	}
}

func TestACommandOfOneKindIsRefusedOnAnother(t *testing.T) {
	b := clubBed(t, 1)
	b.join(0, "club", "red", "a")
	b.as(0, shard.Command{Kind: shard.CmdAcquire, Name: []byte("lock"), Count: 1, Flags: shard.FlagEphemeral})
	before := b.m.State()
	for _, c := range []shard.Command{
		{Kind: shard.CmdSemaphoreCreate, Name: []byte("club"), Count: 1},
		{Kind: shard.CmdSemaphoreUpdate, Name: []byte("club")},
		{Kind: shard.CmdSemaphoreResize, Name: []byte("club"), Count: 1},
		{Kind: shard.CmdSemaphoreDelete, Name: []byte("club"), Flags: shard.FlagForce},
		{Kind: shard.CmdAcquire, Name: []byte("club"), Count: 1},
		{Kind: shard.CmdAcquire, Name: []byte("club"), Count: 1, Flags: shard.FlagEphemeral},
		{Kind: shard.CmdRelease, Name: []byte("club")},
		{Kind: shard.CmdRelease, Name: []byte("club"), Order: 99},
		{Kind: cmdJoin, Name: []byte("lock")},
		{Kind: cmdLeave, Name: []byte("lock")},
		{Kind: cmdDisband, Name: []byte("lock")},
	} {
		b.as(0, c)
		if e := b.result(); e.Status != protocol.StatusPreconditionFailed {
			t.Errorf("%v: %v", c.Kind, e.Status)
		}
		// Sent again it is answered as it was.
		c.Node, c.Session, c.Number = 1, b.ids[0], b.numbers[0]
		b.do(c)
		if e := b.result(); e.Status != protocol.StatusPreconditionFailed {
			t.Errorf("%v, repeated: %v", c.Kind, e.Status)
		}
	}
	b.do(shard.Command{Kind: shard.CmdLead, Term: 1})
	b.do(shard.Command{Kind: shard.CmdWaitersTimeOut, Term: 1,
		Waiters: []shard.WaiterRef{{Node: 1, Name: []byte("club"), Session: b.ids[0], Order: 1, Number: 1}}})
	if after := b.m.State(); after.LastRevision != before.LastRevision || after.LastOrder != before.LastOrder ||
		len(after.Objects[0].Links) != 1 {
		t.Errorf("%+v, then %+v", before, after)
	}
	for _, r := range []shard.Ref{refOf(1, []byte("club")), clubRef("lock", ""), {Kind: 3, Node: 1, Name: "club"},
		{Kind: shard.MaxKinds, Node: 1, Name: "club"}, {Node: 1, Name: "club"}} {
		if b.m.Describe(r, shard.DescribeOptions{}, &shard.Description{}) ||
			b.m.Changes(r, 0, &shard.Delta{}) != shard.DeltaAbsent {
			t.Errorf("%+v is there", r)
		}
	}
}

// TestASnapshotHasWhatAKindHolds: the state and the digest of a replica that was restored are those of the one that
// saved, whatever changes while it saves; so are its quotas.
func TestASnapshotHasWhatAKindHolds(t *testing.T) {
	b := clubBed(t, 6)
	for i := range b.ids {
		b.join(i, "club", []string{"red", "blue"}[i%2], strings.Repeat("m", i))
		b.join(i, "guild", "one", "x")
	}
	b.as(0, shard.Command{Kind: cmdNote, Name: []byte("club"), Data: []byte("meet at noon")})
	b.as(3, shard.Command{Kind: shard.CmdAcquire, Name: []byte("lock"), Count: 1, Flags: shard.FlagEphemeral})
	state, usage := b.m.State(), b.m.Usage(1)
	digest := b.m.BeginDigest()
	defer digest.Close()
	sn := prepare(t, b.m)
	b.as(1, shard.Command{Kind: cmdMark, Name: []byte("club"), Data: []byte("changed meanwhile")})
	b.as(2, shard.Command{Kind: cmdLeave, Name: []byte("club")})
	b.do(shard.Command{Kind: shard.CmdSessionEnd, Session: b.ids[3]})
	b.as(0, shard.Command{Kind: cmdDisband, Name: []byte("guild")})
	file := save(t, sn)
	for done := false; !done; {
		done, _ = digest.Step()
	}
	m := restored(t, file)
	if got := m.State(); !reflect.DeepEqual(got, state) {
		t.Errorf("restored %+v\nnot %+v", got, state)
	}
	if m.Digest() != digest.Sum() {
		t.Error("the digest of the restored replica is another")
	}
	if m.Usage(1) != usage {
		t.Errorf("restored usage %+v, not %+v", m.Usage(1), usage)
	}
	if c := m.Count(); c.OfKind[kindClub] != 2 || c.OfKind[shard.KindSemaphore] != 1 {
		t.Errorf("%+v", c)
	}
}

// TestAKindThatIsNotKnownStopsARestore: the build that wrote the snapshot had a kind that this one lacks.
func TestAKindThatIsNotKnownStopsARestore(t *testing.T) {
	b := clubBed(t, 1)
	b.join(0, "club", "red", "a")
	file := save(t, prepare(t, b.m))
	row := TestKinds.rows[kindClub]
	defer func() { TestKinds.rows[kindClub] = row }()
	TestKinds.rows[kindClub] = KindRow{}
	if err := New(TestKinds, Options{}).Restore(bytes.NewReader(file)); !errors.Is(err, shard.ErrNewerFormat) {
		t.Error(err)
	}
}

func TestAViewReportsItsOwnChangesAlone(t *testing.T) {
	b := clubBed(t, 3)
	b.join(0, "club", "red", "a")
	b.join(1, "club", "blue", "b")
	red, blue := clubRef("club", "red"), clubRef("club", "blue")
	var d shard.Description
	if !b.m.Describe(red, shard.DescribeOptions{Rows: true}, &d) || d.Data != "red: 1 of 1" || len(d.Rows) != 1 ||
		d.Rows[0].ID != 1 || string(d.Rows[0].Body) != b.ids[0].String()+" red a" {
		t.Fatalf("%+v", d)
	}
	since := d.Revision
	var delta shard.Delta
	if kind := b.m.Changes(blue, since, &delta); kind != shard.DeltaSnapshot {
		t.Errorf("a view that came after the revision is reported as %d", kind)
	}
	b.as(1, shard.Command{Kind: cmdMark, Name: []byte("club"), Data: []byte("c")})
	b.as(0, shard.Command{Kind: cmdNote, Name: []byte("club"), Data: []byte("note")})
	if kind := b.m.Changes(red, since, &delta); kind != shard.DeltaNone {
		t.Errorf("a change of another view is reported as %d %+v", kind, delta)
	}
	if kind := b.m.Changes(blue, since+1, &delta); kind != shard.DeltaChanges || len(delta.Rows) != 1 ||
		delta.DataChanged || string(delta.Rows[0].Body) != b.ids[1].String()+" blue c" {
		t.Errorf("%d %+v", kind, delta)
	}
	if kind := b.m.Changes(clubRef("club", ""), since, &delta); kind != shard.DeltaChanges || len(delta.Rows) != 1 ||
		delta.Data != `2 members, met 0 times, note "note"` {
		t.Errorf("%d %+v", kind, delta)
	}
	// A view goes with its last row, and comes again with another history.
	b.as(0, shard.Command{Kind: cmdLeave, Name: []byte("club")})
	if kind := b.m.Changes(red, since, &delta); kind != shard.DeltaAbsent {
		t.Errorf("a view that is gone is reported as %d", kind)
	}
	b.join(2, "club", "red", "d")
	if kind := b.m.Changes(red, since, &delta); kind != shard.DeltaSnapshot {
		t.Errorf("a view that is there again is reported as %d %+v", kind, delta)
	}
	// A replica that was restored goes on from the revision of the view, not from that of the object.
	b.m.Describe(blue, shard.DescribeOptions{}, &d)
	m := restored(t, save(t, prepare(t, b.m)))
	if kind := m.Changes(blue, d.Revision, &delta); kind != shard.DeltaNone {
		t.Errorf("after a restore a view that did not change is reported as %d", kind)
	}
}

// TestPagesOfRowsEndWithTheirBytes: a page ends where it has MaxPage rows, or MaxRowBytes.
func TestPagesOfRowsEndWithTheirBytes(t *testing.T) {
	b := clubBed(t, 9)
	for i := range b.ids {
		b.join(i, "club", "red", strings.Repeat("m", shard.MaxRowBytes/4))
	}
	var d shard.Description
	pages, rows := 0, 0
	for more, after := true, shard.OrderID(0); more; more = d.More {
		if !b.m.Describe(clubRef("club", "red"), shard.DescribeOptions{Rows: true, After: after}, &d) {
			t.Fatal("it is gone")
		}
		for _, r := range d.Rows {
			if shard.OrderID(r.ID) <= after {
				t.Fatalf("row %d behind %d", r.ID, after)
			}
			after = shard.OrderID(r.ID)
		}
		pages, rows = pages+1, rows+len(d.Rows)
	}
	if pages != 3 || rows != len(b.ids) {
		t.Errorf("%d rows on %d pages", rows, pages)
	}
	if kind := b.m.Changes(clubRef("club", ""), 1, &shard.Delta{}); kind != shard.DeltaSnapshot {
		t.Errorf("a delta of %d bytes is %d", 8*shard.MaxRowBytes/4, kind)
	}
}

// TestQuotasCountTheBodiesOfLinks: what a kind keeps for a link is refused where there is no room for it.
func TestQuotasCountTheBodiesOfLinks(t *testing.T) {
	b := clubBed(t, 1)
	b.join(0, "club", "red", "a")
	before := b.m.Usage(1).Bytes
	b.as(0, shard.Command{Kind: cmdMark, Name: []byte("club"), Data: []byte("0123456789")})
	if grown := b.m.Usage(1).Bytes - before; grown != 9 {
		t.Errorf("nine bytes more are counted as %d", grown)
	}
	b.do(shard.Command{Kind: shard.CmdNodeLimits, Node: 1, Bytes: b.m.Usage(1).Bytes + 4})
	b.as(0, shard.Command{Kind: cmdMark, Name: []byte("club"), Data: []byte("0123456789abcdef")})
	if e := b.result(); e.Status != protocol.StatusQuotaExceeded || e.Quota != shard.QuotaNodeBytes {
		t.Errorf("%v %v", e.Status, e.Quota)
	}
	b.as(0, shard.Command{Kind: cmdLeave, Name: []byte("club")})
	b.as(0, shard.Command{Kind: cmdDisband, Name: []byte("club")})
	b.do(shard.Command{Kind: shard.CmdSessionEnd, Session: b.ids[0]})
	if left := b.m.Usage(0).Bytes; left != 0 {
		t.Errorf("%d bytes are left of nothing", left)
	}
}

func TestAForcedEndOfAnyKindIsBounded(t *testing.T) {
	const members, work = 50, 8
	b := clubBed(t, members)
	b.m.core.bounds.Work = work
	for i := range b.ids {
		b.join(i, "club", "red", "a")
	}
	b.as(0, shard.Command{Kind: cmdDisband, Name: []byte("club")})
	if b.m.Describe(clubRef("club", ""), shard.DescribeOptions{}, &shard.Description{}) {
		t.Error("it is there after its end")
	}
	if e := b.join(1, "club", "red", "a"); e.Status != protocol.StatusOverloaded {
		t.Errorf("a name that is not free yet is answered with %v", e.Status)
	}
	steps := 1
	for b.m.Pending() > 0 {
		// What is pending stands in snapshots.
		b.m = restored(t, save(t, prepare(t, b.m)))
		b.m.core.bounds.Work = work
		b.do(shard.Command{Kind: shard.CmdContinue})
		steps++
	}
	if c := b.m.Count(); c.Links != 0 || c.Objects != 0 || steps < members/work {
		t.Errorf("%+v after %d steps", c, steps)
	}
}

// TestALinkIsNoLargerForItsBody: bodies of links took the room that timeouts had left.
func TestALinkIsNoLargerForItsBody(t *testing.T) {
	for _, c := range []struct {
		millis uint64
		ok     bool
	}{
		{0, true}, {uint64(shard.MaxAcquireTimeout.Milliseconds()), true}, {shard.Forever, true}, {1 << 32, false},
		{1<<32 - 1, false},
	} {
		w, ok := newWaitTime(c.millis)
		if ok != c.ok || ok && w.millis() != c.millis {
			t.Errorf("%d milliseconds are %d %v", c.millis, w.millis(), ok)
		}
	}
	if size := reflect.TypeFor[Holding]().Size(); size > 72 {
		t.Errorf("a link takes %d bytes", size)
	}
}

// TestAnAlarmOfAKindIsKeptByItsObject: it is set again by a restore, and ends with the object.
func TestAnAlarmOfAKindIsKeptByItsObject(t *testing.T) {
	b := clubBed(t, 1)
	b.do(shard.Command{Kind: shard.CmdLead, Term: 1})
	b.join(0, "club", "red", "a")
	b.join(0, "guild", "red", "a")
	b.as(0, shard.Command{Kind: cmdMeet, Name: []byte("club"), Timeout: 50})
	b.as(0, shard.Command{Kind: cmdMeet, Name: []byte("guild"), Timeout: 20})
	b.as(0, shard.Command{Kind: cmdDisband, Name: []byte("guild")})
	b.m = restored(t, save(t, prepare(t, b.m)))
	at, waits := b.m.NextAlarm()
	if !waits || b.m.Alarms() != 1 || at != 51 {
		t.Fatalf("%d alarms, the next at %d", b.m.Alarms(), at)
	}
	var d shard.Description
	for _, elapsed := range []uint64{at - 1, at} {
		b.one.Stamp.Elapsed = elapsed
		b.do(shard.Command{Kind: shard.CmdDue, Term: 1})
		b.m.Describe(clubRef("club", ""), shard.DescribeOptions{}, &d)
		if met := strings.Contains(d.Data, "met 1 times"); met != (elapsed == at) {
			t.Errorf("at %d: %q", elapsed, d.Data)
		}
	}
	if _, waits := b.m.NextAlarm(); waits {
		t.Error("it waits for another time")
	}
}
