package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

func TestDescribePagesShowEveryOwnerAndWaiterOnceInOrder(t *testing.T) {
	const owners, waiters = 1500, 1200
	b := newBed(owners + waiters)
	name := []byte("sem")
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: owners, Data: []byte("its data")})
	for i := range owners + waiters {
		b.As(i, shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1, Timeout: 60_000,
			Data: fmt.Appendf(nil, "d%d", i)})
	}
	for _, c := range []struct {
		owners, waiters bool
		limit, want     int
		first           shard.OrderID
	}{
		{true, true, 0, owners + waiters, 1},
		{true, false, 7, owners, 1},
		{false, true, 999, waiters, owners + 1},
		{false, false, 0, 0, 0},
		{true, true, 1 << 30, owners + waiters, 1},
	} {
		var d shard.Description
		var seen []shard.LinkView
		for after := shard.OrderID(0); ; after = seen[len(seen)-1].Order {
			if !b.M.Describe(refOf(1, name), shard.DescribeOptions{Owners: c.owners, Waiters: c.waiters, After: after,
				Limit: c.limit}, &d) {
				t.Fatal("not found")
			}
			if len(d.Links) > shard.MaxPage {
				t.Fatalf("a page of %d", len(d.Links))
			}
			if d.Owners != owners || d.Waiters != waiters || d.Count != owners || d.Limit != owners ||
				d.Data != "its data" {
				t.Fatalf("%+v", d)
			}
			seen = append(seen, d.Links...)
			if !d.More {
				break
			}
		}
		if len(seen) != c.want {
			t.Fatalf("%+v: saw %d", c, len(seen))
		}
		for i, l := range seen {
			at := int(c.first) - 1 + i
			want := shard.LinkView{Order: shard.OrderID(at*(shard.MaxShard+1) + 1), Session: b.IDs[at], Count: 1,
				Data: fmt.Sprintf("d%d", at), Owner: at < owners}
			if !want.Owner {
				want.Timeout = 60_000
			}
			if l != want {
				t.Fatalf("have %+v, want %+v", l, want)
			}
		}
	}
	if b.M.Describe(refOf(1, []byte("other")), shard.DescribeOptions{}, &shard.Description{}) ||
		b.M.Describe(refOf(2, name), shard.DescribeOptions{}, &shard.Description{}) {
		t.Fatal("described what is not there")
	}
}

func TestAPageGoesOnWhereThePreviousEndedThoughThatOwnerHasLeft(t *testing.T) {
	b := newBed(30)
	name := []byte("sem")
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 100})
	for i := range 30 {
		b.As(i, shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1})
	}
	for i := 4; i < 15; i++ {
		b.As(i, shard.Command{Kind: shard.CmdRelease, Name: name})
	}
	var d shard.Description
	b.M.Describe(refOf(1, name), shard.DescribeOptions{Owners: true, After: 9*(shard.MaxShard+1) + 1, Limit: 2}, &d)
	if len(d.Links) != 2 || d.Links[0].Order != 15*(shard.MaxShard+1)+1 ||
		d.Links[1].Order != 16*(shard.MaxShard+1)+1 || !d.More {
		t.Fatalf("%+v", d)
	}
}

func TestSemaphoresAreListedByPrefixInOrderAndInPages(t *testing.T) {
	b := newBed(1)
	var want []string
	for i := range 2500 {
		name := fmt.Sprintf("a/%d", i)
		want = append(want, name)
		b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte(name), Count: 1})
	}
	for _, other := range []string{"a", "a0", "b/1", "A/1"} {
		b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte(other), Count: 1})
	}
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 2, Name: []byte("a/of another node"), Count: 1})
	slices.Sort(want)
	for _, limit := range []int{0, 1, 700} {
		var got []string
		for after, more := "", true; more; after = got[len(got)-1] {
			var page []shard.SemaphoreView
			page, _, more = SemaphoreReads.List(b.M, 1, "a/", after, limit, nil)
			for _, s := range page {
				got = append(got, s.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("limit %d: %d names", limit, len(got))
		}
	}
	if all, _, more := SemaphoreReads.List(b.M, 1, "", "", 3, nil); !more || all[0].Name != "A/1" ||
		all[1].Name != "a" {
		t.Fatal(all, more)
	}
	if none, _, more := SemaphoreReads.List(b.M, 3, "", "", 0, nil); len(none) != 0 || more {
		t.Fatal(none, more)
	}
}

func TestSessionsAndWhatTheyHoldAreListedInPages(t *testing.T) {
	b := newBed(2300)
	want := slices.Clone(b.IDs)
	slices.Sort(want)
	var got []shard.SessionID
	for after, more := shard.SessionID(0), true; more; {
		var page []shard.SessionView
		page, after, more = b.M.ListSessions(1, after, 900, nil)
		for _, s := range page {
			got = append(got, s.ID)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%d of %d", len(got), len(want))
	}
	for i := range 1200 {
		b.As(0, shard.Command{Kind: shard.CmdAcquire, Name: fmt.Appendf(nil, "s%d", i), Count: 1,
			Flags: shard.FlagEphemeral})
	}
	var names []string
	for after, more := shard.OrderID(0), true; more; {
		var page []shard.Holding
		page, more = b.M.ListHoldings(b.IDs[0], after, 500, nil)
		for _, h := range page {
			names = append(names, h.Name)
		}
		after = page[len(page)-1].Order
	}
	if len(names) != 1200 || names[0] != "s0" || names[1199] != "s1199" {
		t.Fatal(len(names))
	}
}

func TestEveryThingIsListedInItsSlot(t *testing.T) {
	b := newBed(300)
	for i := range 300 {
		b.As(i, shard.Command{Kind: shard.CmdAcquire, Name: fmt.Appendf(nil, "lock/%d", i), Count: 1,
			Flags: shard.FlagEphemeral})
	}
	sessions, objects := 0, 0
	for slot := shard.Slot(0); slot < shard.Slots; slot++ {
		ss, oo := b.M.ListSlot(slot)
		for _, s := range ss {
			if s.Slot() != slot {
				t.Fatalf("session %v in slot %d", s, slot)
			}
		}
		for _, o := range oo {
			if shard.SlotOf(o.Node, []byte(o.Name)) != slot || !strings.HasPrefix(o.Name, "lock/") {
				t.Fatalf("%v in slot %d", o, slot)
			}
		}
		sessions += len(ss)
		objects += len(oo)
	}
	if sessions != 300 || objects != 300 {
		t.Fatal(sessions, objects)
	}
}

func TestAWalkMeetsEverySession(t *testing.T) {
	b := newBed(2500)
	seen := 0
	for at, over := shard.Cursor(0), false; !over; {
		at, over = b.M.WalkSessions(at, func(shard.SessionView) { seen++ })
	}
	if seen != 2500 {
		t.Fatal(seen)
	}
}

func TestKeyMatchesOnlyTheKeyThatTheSessionWasMadeWith(t *testing.T) {
	b := newBed(1) // without a key
	b.Do(shard.Command{Kind: shard.CmdSessionCreate, Node: 1, Slot: 1, Key: []byte("secret")})
	keyed := b.Result().Session
	for _, c := range []struct {
		id   shard.SessionID
		key  string
		want bool
	}{{b.IDs[0], "", true}, {b.IDs[0], "any", true}, {keyed, "secret", true}, {keyed, "", false}, {keyed, "secre",
		false}, {keyed + 1, "secret", false}} {
		if b.M.KeyMatches(c.id, []byte(c.key)) != c.want {
			t.Error(c)
		}
	}
}

func TestReadsBesideApplyAreFreeOfRaces(t *testing.T) {
	m := New(TestKinds, Options{})
	b := newBusy(m, 11)
	b.steps(50)
	stop := make(chan struct{})
	var reading sync.WaitGroup
	for range 2 {
		reading.Go(func() {
			var d shard.Description
			var delta shard.Delta
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Appendf(nil, "s%d", i%60)
				node := shard.NodeID(1 + i%3)
				all := shard.DescribeOptions{Owners: true, Waiters: true}
				if m.Describe(refOf(node, name), all, &d) && d.Count > d.Limit {
					t.Error("more taken than there is")
				}
				m.Changes(refOf(node, name), d.Revision, &delta)
				SemaphoreReads.List(m, node, "s", "", 10, nil)
				page, _, _ := m.ListSessions(node, 0, 10, nil)
				for _, s := range page {
					m.ListHoldings(s.ID, 0, 10, nil)
				}
				m.WalkSessions(0, func(shard.SessionView) {})
				m.ListSlot(shard.Slot(i % shard.Slots))
				m.Count()
				m.Nodes()
			}
		})
	}
	b.steps(300)
	close(stop)
	reading.Wait()
}

func TestSessionIDsHoldTheirSlotAndSpeakForThemselves(t *testing.T) {
	id := shard.NewSessionID(4095, 77)
	if id.Slot() != 4095 || id.Counter() != 77 || id.String() != "4095-77" {
		t.Fatal(id)
	}
	for _, bad := range []func(){
		func() { shard.NewSessionID(4096, 1) }, func() { shard.NewSessionID(0, 0) },
		func() { shard.NewSessionID(0, 1<<52) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a session id out of range was made")
				}
			}()
			bad()
		}()
	}
}

func TestACommandAboveTheLevelIsAnsweredAndChangesNothing(t *testing.T) {
	b := newBed(1)
	before := b.M.Digest()
	b.Do(shard.Command{Level: level.Newest + 1, Kind: shard.CmdAcquire, Node: 1, Session: b.IDs[0], Number: 1,
		Name: []byte("x")})
	if b.Result().Status != protocol.StatusUnsupported || b.M.Digest() != before {
		t.Fatal(b.Result())
	}
}

// TestReadingInMemoryThatIsUsedAgainAllocatesNothing: watches describe semaphores and ask for changes all the time.
func TestReadingInMemoryThatIsUsedAgainAllocatesNothing(t *testing.T) {
	b := newBed(10)
	name := []byte("sem")
	b.Do(shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: name, Count: 10, Data: []byte("its data")})
	for i := range 10 {
		b.As(i, shard.Command{Kind: shard.CmdAcquire, Name: name, Count: 1})
	}
	var description shard.Description
	var delta shard.Delta
	r := refOf(1, name)
	for what, read := range map[string]func(){
		"Describe": func() { b.M.Describe(r, shard.DescribeOptions{Owners: true, Limit: 5}, &description) },
		"Changes":  func() { b.M.Changes(r, 5, &delta) },
	} {
		if n := testing.AllocsPerRun(100, read); n > 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}

// ListSlot returns the sessions and the objects in one slot, by id, node and name.
func (m *Machine) ListSlot(slot shard.Slot) (sessions []shard.SessionID, objects []shard.ObjectName) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for h := arena.Handle(1); h < m.core.Sessions.End(); h++ {
		if id := m.core.Sessions.At(h).id; id != 0 && id.Slot() == slot {
			sessions = append(sessions, id)
		}
	}
	for h := arena.Handle(1); h < m.core.Objects.End(); h++ {
		if o := m.core.Objects.At(h); o.node != 0 && o.slot == slot {
			objects = append(objects, shard.ObjectName{Node: m.core.Objects.Node(o).ID, Name: m.core.Objects.Name(o)})
		}
	}
	slices.Sort(sessions)
	slices.SortFunc(objects, func(a, b shard.ObjectName) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), strings.Compare(a.Name, b.Name))
	})
	return sessions, objects
}
