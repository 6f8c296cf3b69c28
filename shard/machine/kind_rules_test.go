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
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// refOf names a semaphore.
func refOf(n shard.NodeID, name []byte) shard.Ref {
	return shard.Ref{Kind: shard.KindSemaphore, Node: n, Name: string(name)}
}

func clubRef(name, view string) shard.Ref {
	return shard.Ref{Kind: kindClub, Node: 1, Name: name, View: view}
}

// clubBed is a bed for a shard that supports clubs.
func clubBed(t testing.TB, sessions int) *bed {
	t.Helper()
	return newestBed(sessions)
}

func (b *bed) join(i int, name, team, mark string) *shard.Effect {
	b.As(i, shard.Command{Kind: cmdJoin, Name: []byte(name), Key: []byte(team), Data: []byte(mark)})
	return b.Result()
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
	b.As(0, lock)
	b.join(1, "club", "blue", "b")
	b.As(1, lock)
	h, _ := b.M.ListHoldings(b.IDs[0], 0, 0, nil)
	if len(h) != 2 || h[0].Name != "club" || h[0].Kind != kindClub || h[0].Role != "member" ||
		h[1].Name != "lock" || h[1].Kind != shard.KindSemaphore || h[1].Role != "owner" {
		t.Fatalf("%+v", h)
	}
	if v, _ := b.M.Session(b.IDs[0]); v.Owns != 2 || v.Waits != 0 {
		t.Fatalf("%+v", v)
	}
	if c := b.M.Count(); c.OfKind[kindClub] != 1 || c.OfKind[shard.KindSemaphore] != 1 || c.Objects != 2 ||
		c.Links != 4 {
		t.Fatalf("%+v", c)
	}
	list, last, more := b.M.ListObjects(1, "", "", 1, nil)
	if len(list) != 1 || list[0].Name != "club" || list[0].Kind != kindClub || list[0].Links != 2 || !more {
		t.Fatalf("%+v", list)
	}
	if list, _, more = b.M.ListObjects(1, "", last, 9, nil); len(list) != 1 || list[0].Kind != shard.KindSemaphore ||
		more {
		t.Fatalf("%+v", list)
	}
	if list, _, more := SemaphoreReads.List(b.M, 1, "", "", 9, nil); len(list) != 1 || list[0].Name != "lock" || more {
		t.Fatalf("%+v", list)
	}

	// The session's end releases both, and grants another session's wait.
	b.Do(shard.Command{Kind: shard.CmdLead, Term: 1})
	b.Do(shard.Command{Kind: shard.CmdSessionsExpire, Term: 1, Sessions: b.IDs[:1]})
	if !slices.ContainsFunc(b.Out.List, func(e shard.Effect) bool { return e.Kind == shard.EffectGranted }) {
		t.Error("the lock was not granted")
	}
	if h, _ := b.M.ListHoldings(b.IDs[1], 0, 0, nil); len(h) != 2 || !h[1].Owner {
		t.Fatalf("%+v", h)
	}
	if rows := rowsOf(t, b.M, clubRef("club", "")); len(rows) != 1 {
		t.Fatal("the session that expired is a member still:", rows)
	}

	b.Do(shard.Command{Kind: shard.CmdNodeDrop, Node: 1, Count: 10})
	if c := b.M.Count(); b.Result().Flags&shard.FlagMore != 0 || c.Objects+c.Links+c.Sessions != 0 ||
		c.OfKind != [shard.MaxKinds]int{} || b.M.Usage(0).Bytes != 0 {
		t.Fatalf("%+v", c)
	}
}

func TestACommandOfOneKindIsRefusedOnAnother(t *testing.T) {
	b := clubBed(t, 1)
	b.join(0, "club", "red", "a")
	b.As(0, shard.Command{Kind: shard.CmdAcquire, Name: []byte("lock"), Count: 1, Flags: shard.FlagEphemeral})
	before := b.M.State()
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
		b.As(0, c)
		if e := b.Result(); e.Status != protocol.StatusPreconditionFailed {
			t.Errorf("%v: %v", c.Kind, e.Status)
		}
		// A repetition gets the same answer.
		c.Node, c.Session, c.Number = 1, b.IDs[0], b.Numbers[0]
		b.Do(c)
		if e := b.Result(); e.Status != protocol.StatusPreconditionFailed {
			t.Errorf("%v, repeated: %v", c.Kind, e.Status)
		}
	}
	b.Do(shard.Command{Kind: shard.CmdLead, Term: 1})
	b.Do(shard.Command{Kind: shard.CmdWaiterWithdraw, Node: 1, Name: []byte("club"), Session: b.IDs[0], Order: 1,
		Number: 1})
	if after := b.M.State(); after.LastRevision != before.LastRevision || after.LastOrder != before.LastOrder ||
		len(after.Objects[0].Links) != 1 {
		t.Errorf("%+v, then %+v", before, after)
	}
	for _, r := range []shard.Ref{refOf(1, []byte("club")), clubRef("lock", ""), {Kind: 3, Node: 1, Name: "club"},
		{Kind: shard.MaxKinds, Node: 1, Name: "club"}, {Node: 1, Name: "club"}} {
		if b.M.Describe(r, shard.DescribeOptions{}, &shard.Description{}) ||
			b.M.Changes(r, 0, &shard.Delta{}) != shard.DeltaAbsent {
			t.Errorf("%+v is there", r)
		}
	}
}

// TestASnapshotHasWhatAKindHolds: a restored replica has the saving replica's state, digest and quotas, despite changes
// during the save.
func TestASnapshotHasWhatAKindHolds(t *testing.T) {
	b := clubBed(t, 6)
	for i := range b.IDs {
		b.join(i, "club", []string{"red", "blue"}[i%2], strings.Repeat("m", i))
		b.join(i, "guild", "one", "x")
	}
	b.As(0, shard.Command{Kind: cmdNote, Name: []byte("club"), Data: []byte("meet at noon")})
	b.As(3, shard.Command{Kind: shard.CmdAcquire, Name: []byte("lock"), Count: 1, Flags: shard.FlagEphemeral})
	state, usage := b.M.State(), b.M.Usage(1)
	digest := b.M.BeginDigest()
	defer digest.Close()
	sn := machinetest.Prepare(t, b.M)
	b.As(1, shard.Command{Kind: cmdMark, Name: []byte("club"), Data: []byte("changed meanwhile")})
	b.As(2, shard.Command{Kind: cmdLeave, Name: []byte("club")})
	b.Do(shard.Command{Kind: shard.CmdSessionEnd, Session: b.IDs[3]})
	b.As(0, shard.Command{Kind: cmdDisband, Name: []byte("guild")})
	file := machinetest.Save(t, sn)
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

// TestAKindThatIsNotKnownStopsARestore: the snapshot's writer supported a kind that this build lacks.
func TestAKindThatIsNotKnownStopsARestore(t *testing.T) {
	b := clubBed(t, 1)
	b.join(0, "club", "red", "a")
	file := machinetest.File(t, b.M)
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
	if !b.M.Describe(red, shard.DescribeOptions{Rows: true}, &d) || d.Data != "red: 1 of 1" || len(d.Rows) != 1 ||
		d.Rows[0].ID != 1 || string(d.Rows[0].Body) != b.IDs[0].String()+" red a" {
		t.Fatalf("%+v", d)
	}
	since := d.Revision
	var delta shard.Delta
	if kind := b.M.Changes(blue, since, &delta); kind != shard.DeltaSnapshot {
		t.Errorf("a view that came after the revision is reported as %d", kind)
	}
	b.As(1, shard.Command{Kind: cmdMark, Name: []byte("club"), Data: []byte("c")})
	b.As(0, shard.Command{Kind: cmdNote, Name: []byte("club"), Data: []byte("note")})
	if kind := b.M.Changes(red, since, &delta); kind != shard.DeltaNone {
		t.Errorf("a change of another view is reported as %d %+v", kind, delta)
	}
	if kind := b.M.Changes(blue, since+1, &delta); kind != shard.DeltaChanges || len(delta.Rows) != 1 ||
		delta.DataChanged || string(delta.Rows[0].Body) != b.IDs[1].String()+" blue c" {
		t.Errorf("%d %+v", kind, delta)
	}
	if kind := b.M.Changes(clubRef("club", ""), since, &delta); kind != shard.DeltaChanges || len(delta.Rows) != 1 ||
		delta.Data != `2 members, met 0 times, note "note"` {
		t.Errorf("%d %+v", kind, delta)
	}
	// A view ends with its last row, and returns with a new history.
	b.As(0, shard.Command{Kind: cmdLeave, Name: []byte("club")})
	if kind := b.M.Changes(red, since, &delta); kind != shard.DeltaAbsent {
		t.Errorf("a view that is gone is reported as %d", kind)
	}
	b.join(2, "club", "red", "d")
	if kind := b.M.Changes(red, since, &delta); kind != shard.DeltaSnapshot {
		t.Errorf("a view that is there again is reported as %d %+v", kind, delta)
	}
	// A restored replica continues from the view's revision, not from the object's.
	b.M.Describe(blue, shard.DescribeOptions{}, &d)
	m := machinetest.Copy(t, b.M, New(TestKinds, Options{}))
	if kind := m.Changes(blue, d.Revision, &delta); kind != shard.DeltaNone {
		t.Errorf("after a restore a view that did not change is reported as %d", kind)
	}
}

// TestPagesOfRowsEndWithTheirBytes: a page ends at MaxPage rows, or MaxRowBytes.
func TestPagesOfRowsEndWithTheirBytes(t *testing.T) {
	b := clubBed(t, 9)
	for i := range b.IDs {
		b.join(i, "club", "red", strings.Repeat("m", shard.MaxRowBytes/4))
	}
	var d shard.Description
	pages, rows := 0, 0
	for more, after := true, shard.OrderID(0); more; more = d.More {
		if !b.M.Describe(clubRef("club", "red"), shard.DescribeOptions{Rows: true, After: after}, &d) {
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
	if pages != 3 || rows != len(b.IDs) {
		t.Errorf("%d rows on %d pages", rows, pages)
	}
	if kind := b.M.Changes(clubRef("club", ""), 1, &shard.Delta{}); kind != shard.DeltaSnapshot {
		t.Errorf("a delta of %d bytes is %d", 8*shard.MaxRowBytes/4, kind)
	}
}

// TestQuotasCountTheBodiesOfLinks: a link's body is refused if there is no capacity.
func TestQuotasCountTheBodiesOfLinks(t *testing.T) {
	b := clubBed(t, 1)
	b.join(0, "club", "red", "a")
	before := b.M.Usage(1).Bytes
	b.As(0, shard.Command{Kind: cmdMark, Name: []byte("club"), Data: []byte("0123456789")})
	if grown := b.M.Usage(1).Bytes - before; grown != 9 {
		t.Errorf("nine bytes more are counted as %d", grown)
	}
	b.Do(shard.Command{Kind: shard.CmdNodeLimits, Node: 1, Bytes: b.M.Usage(1).Bytes + 4})
	b.As(0, shard.Command{Kind: cmdMark, Name: []byte("club"), Data: []byte("0123456789abcdef")})
	if e := b.Result(); e.Status != protocol.StatusQuotaExceeded || e.Quota != shard.QuotaNodeBytes {
		t.Errorf("%v %v", e.Status, e.Quota)
	}
	b.As(0, shard.Command{Kind: cmdLeave, Name: []byte("club")})
	b.As(0, shard.Command{Kind: cmdDisband, Name: []byte("club")})
	b.Do(shard.Command{Kind: shard.CmdSessionEnd, Session: b.IDs[0]})
	if left := b.M.Usage(0).Bytes; left != 0 {
		t.Errorf("%d bytes are left of nothing", left)
	}
}

func TestAForcedEndOfAnyKindIsBounded(t *testing.T) {
	const members, work = 50, 8
	b := clubBed(t, members)
	b.M.core.bounds.Work = work
	for i := range b.IDs {
		b.join(i, "club", "red", "a")
	}
	b.As(0, shard.Command{Kind: cmdDisband, Name: []byte("club")})
	if b.M.Describe(clubRef("club", ""), shard.DescribeOptions{}, &shard.Description{}) {
		t.Error("it is there after its end")
	}
	if e := b.join(1, "club", "red", "a"); e.Status != protocol.StatusOverloaded {
		t.Errorf("a name that is not free yet is answered with %v", e.Status)
	}
	steps := 1
	for b.M.Pending() > 0 {
		// Pending work is part of snapshots.
		b.M = machinetest.Copy(t, b.M, New(TestKinds, Options{}))
		b.M.core.bounds.Work = work
		b.Do(shard.Command{Kind: shard.CmdContinue})
		steps++
	}
	if c := b.M.Count(); c.Links != 0 || c.Objects != 0 || steps < members/work {
		t.Errorf("%+v after %d steps", c, steps)
	}
}

// TestALinkIsNoLargerForItsBody: link bodies use the space freed by timeouts.
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

// TestAnAlarmOfAKindIsKeptByItsObject: a restore sets it again, and it ends with the object.
func TestAnAlarmOfAKindIsKeptByItsObject(t *testing.T) {
	b := clubBed(t, 1)
	b.Do(shard.Command{Kind: shard.CmdLead, Term: 1})
	b.join(0, "club", "red", "a")
	b.join(0, "guild", "red", "a")
	b.As(0, shard.Command{Kind: cmdMeet, Name: []byte("club"), Timeout: 50})
	b.As(0, shard.Command{Kind: cmdMeet, Name: []byte("guild"), Timeout: 20})
	b.As(0, shard.Command{Kind: cmdDisband, Name: []byte("guild")})
	b.M = machinetest.Copy(t, b.M, New(TestKinds, Options{}))
	at, waits := b.M.NextAlarm()
	if !waits || b.M.Alarms() != 1 || at != 51 {
		t.Fatalf("%d alarms, the next at %d", b.M.Alarms(), at)
	}
	var d shard.Description
	for _, elapsed := range []uint64{at - 1, at} {
		b.One.Stamp.Elapsed = elapsed
		b.Do(shard.Command{Kind: shard.CmdDue, Term: 1})
		b.M.Describe(clubRef("club", ""), shard.DescribeOptions{}, &d)
		if met := strings.Contains(d.Data, "met 1 times"); met != (elapsed == at) {
			t.Errorf("at %d: %q", elapsed, d.Data)
		}
	}
	if _, waits := b.M.NextAlarm(); waits {
		t.Error("it waits for another time")
	}
}
