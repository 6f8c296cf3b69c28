package server_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestAHigherLimitGrantsThoseWhoWait(t *testing.T) {
	s := speak(t, servertest.Start(t), 1)
	s.node("/jobs")
	a, b, d := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
	made := s.must(s.ask(&protocol.SemaphoreCreate{NodeID: a.node, Name: []byte("slots"), Limit: 2})).SemaphoreCreate
	_, owner := a.acquire("slots", 2, 0, false)
	want(t, "outcome", owner.Outcome, protocol.Acquired)
	first, _ := b.acquire("slots", 1, -1, false)
	second, _ := d.acquire("slots", 2, -1, false)
	watch := s.say(&protocol.SemaphoreDescribe{NodeID: a.node, Name: []byte("slots"), WatchData: true, SessionID: a.id})
	s.must(s.await(watch, protocol.KindSemaphoreDescribe.Answer()))

	guarded := &protocol.SemaphoreResize{Mutation: a.mutation(), NodeID: a.node, Name: []byte("slots"), Limit: 5,
		ExpectedRevision: made.Revision}
	refused := s.ask(guarded).Result
	if refused.Status != protocol.StatusPreconditionFailed || !strings.Contains(refused.Message, "another revision") {
		t.Errorf("%v: %s", refused.Status, refused.Message)
	}
	d1 := s.must(s.ask(&protocol.SemaphoreDescribe{NodeID: a.node, Name: []byte("slots"),
		Consistency: protocol.ConsistencyStrict})).SemaphoreDescribe
	resize := &protocol.SemaphoreResize{
		Mutation: a.mutation(), NodeID: a.node, Name: []byte("slots"), Limit: 5,
		ExpectedRevision: d1.Semaphore.Revision,
	}
	resized := s.must(s.ask(resize)).SemaphoreResize
	s.await(first, protocol.KindGranted)
	s.await(second, protocol.KindGranted)
	want(t, "the watch says", s.await(watch, protocol.KindWatchChanged).WatchChanged,
		protocol.WatchChanged{Data: true, Owners: true})
	d2 := s.must(s.ask(&protocol.SemaphoreDescribe{NodeID: a.node, Name: []byte("slots"),
		Consistency: protocol.ConsistencyStrict})).SemaphoreDescribe
	want(t, "limit", d2.Semaphore.Limit, 5)
	want(t, "count", d2.Semaphore.Count, 5)
	want(t, "revision", d2.Semaphore.Revision, resized.Revision)
	want(t, "sent again", s.must(s.ask(resize)).SemaphoreResize, resized)
}

func TestALowerLimitTakesNothingAndAbortsWhoAsksForMore(t *testing.T) {
	s := speak(t, servertest.Start(t), 1)
	s.node("/jobs")
	a, b, d := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
	s.must(s.ask(&protocol.SemaphoreCreate{NodeID: a.node, Name: []byte("slots"), Limit: 3}))
	a.acquire("slots", 3, 0, false)
	first, _ := b.acquire("slots", 2, -1, false)
	second, _ := d.acquire("slots", 1, -1, false)
	s.must(s.ask(&protocol.SemaphoreResize{NodeID: a.node, Name: []byte("slots"), Limit: 1}))
	aborted := s.await(first, protocol.KindAborted).Aborted.Result
	want(t, "status", aborted.Status, protocol.StatusAborted)
	want(t, "reason", aborted.Reason, protocol.AbortResized)
	_, again := a.acquire("slots", 3, 0, false)
	want(t, "the owner asks for what it has", again.Outcome, protocol.Acquired)
	_, less := a.acquire("slots", 1, 0, false)
	want(t, "the owner asks for less", less.Outcome, protocol.Acquired)
	a.release("slots")
	s.await(second, protocol.KindGranted)
}

func TestAResizeThatCannotBeSaysWhy(t *testing.T) {
	s := speak(t, servertest.Start(t), 1)
	s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	a.acquire("lock", 1, 0, true)
	for _, c := range []struct {
		name   string
		limit  uint64
		status protocol.Status
		says   string
	}{
		{"none", 1, protocol.StatusNotFound, "no semaphore"},
		{"lock", 1, protocol.StatusPreconditionFailed, "ephemeral"},
		{"none", 0, protocol.StatusBadRequest, "the limit must be at least 1"},
	} {
		got := s.ask(&protocol.SemaphoreResize{NodeID: a.node, Name: []byte(c.name), Limit: c.limit}).Result
		if got.Status != c.status || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s, %d: %v: %s", c.name, c.limit, got.Status, got.Message)
		}
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	s := speak(t, servertest.Start(t), 1)
	s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	box := []byte("box")
	s.must(s.ask(&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: a.node, Name: box, Limit: 1,
		Data: []byte("v1")}))
	for _, c := range []struct {
		request protocol.RequestMessage
		status  protocol.Status
		says    string
	}{
		{&protocol.SemaphoreUpdate{Mutation: a.mutation(), NodeID: a.node, Name: []byte("none")},
			protocol.StatusNotFound, "no semaphore"},
		{&protocol.SemaphoreUpdate{NodeID: a.node + 7, Name: box}, protocol.StatusNotFound,
			"the node id does not exist"},
		{&protocol.SemaphoreUpdate{Mutation: a.mutation(), NodeID: a.node, Name: box, OrderID: 9},
			protocol.StatusFenced, "order id"},
		{&protocol.SemaphoreUpdate{Mutation: a.mutation(), NodeID: a.node, Name: box, ExpectedRevision: 99},
			protocol.StatusPreconditionFailed, "another revision"},
		{&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: a.node, Name: box, Limit: 1},
			protocol.StatusAlreadyExists, "persistent"},
		{&protocol.Acquire{Mutation: a.mutation(), NodeID: a.node, Name: box, Count: 2}, protocol.StatusBadRequest,
			"above the limit"},
		{&protocol.Acquire{Mutation: a.mutation(), NodeID: a.node, Name: box, Count: 1, Ephemeral: true},
			protocol.StatusPreconditionFailed, "ephemeral"},
	} {
		got := s.ask(c.request).Result
		if got.Status != c.status || !strings.Contains(got.Message, c.says) {
			t.Errorf("%v was answered by %v: %q, without %q", c.request.Kind(), got.Status, got.Message, c.says)
		}
	}
	a.acquire("box", 1, 0, false)
	got := s.ask(&protocol.SemaphoreDelete{Mutation: a.mutation(), NodeID: a.node, Name: box}).Result
	if got.Status != protocol.StatusPreconditionFailed || !strings.Contains(got.Message, "force") {
		t.Errorf("a delete of what is in use was answered by %v: %q", got.Status, got.Message)
	}
}

// moment is a time interval in which something was done.
type moment struct{ from, to time.Time }

// during runs do after the previous moment is over by every host's wall clock.
func during(do func()) moment {
	time.Sleep(2 * aTurn)
	from := time.Now()
	do()
	return moment{from, time.Now()}
}

// aTurn is the maximum wall clock difference between hosts: each updates its clock in every turn of its loop.
const aTurn = time.Second

// wantIn fails the test unless a protocol time is in the interval.
func (m moment) wantIn(t *testing.T, what string, millis uint64) {
	t.Helper()
	if got, from := int64(millis), m.from.Add(-aTurn).UnixMilli(); got < from || got > m.to.UnixMilli() {
		t.Errorf("%s: since %d, not between %d and %d", what, got, from, m.to.UnixMilli())
	}
}

func (st *started) described(name string) (owners []protocol.Owner, waiters []protocol.Waiter) {
	st.s.t.Helper()
	a := st.s.must(st.s.ask(&protocol.SemaphoreDescribe{
		NodeID: st.node, Name: []byte(name), IncludeOwners: true, IncludeWaiters: true,
		Consistency: protocol.ConsistencyStrict,
	})).SemaphoreDescribe
	for o := range a.Owners.All() {
		owners = append(owners, o)
	}
	for w := range a.Waiters.All() {
		waiters = append(waiters, w)
	}
	return owners, waiters
}

func TestOwnersWaitersAndSessionsSaySinceWhenAndWhoseTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := speak(t, servertest.Start(t), 1)
		s.node("/jobs")
		var a, b *started
		started := during(func() { a = s.session("/jobs", time.Minute) })
		b = s.session("/jobs", time.Minute)
		var queued uint64
		owned := during(func() { a.acquire("lock", protocol.Exclusive, 0, true) })
		waited := during(func() { queued, _ = b.acquire("lock", protocol.Exclusive, -1, true) })

		session := s.must(s.ask(&protocol.SessionDescribe{SessionID: a.id})).SessionDescribe.Session
		started.wantIn(t, "the session", session.SinceMillis)
		want(t, "client", string(session.Client.Name), "speaker")
		want(t, "version", string(session.Client.Version), "7.1")
		address := string(session.Client.Address)
		if address == "" {
			t.Error("the session has no address")
		}
		owners, waiters := a.described("lock")
		owned.wantIn(t, "the owner", owners[0].SinceMillis)
		waited.wantIn(t, "the waiter", waiters[0].SinceMillis)
		for _, c := range []protocol.ClientInfo{owners[0].Client, waiters[0].Client} {
			if string(c.Name) != "speaker" || string(c.Version) != "7.1" || string(c.Address) != address {
				t.Errorf("client %q %q from %q", c.Name, c.Version, c.Address)
			}
		}
		granted := during(func() { a.release("lock"); s.await(queued, protocol.KindGranted) })
		owners, _ = b.described("lock")
		granted.wantIn(t, "who was granted", owners[0].SinceMillis)
		var held []protocol.Holding
		for id := range uint64(2) {
			if l := s.ask(&protocol.SessionHoldings{SessionID: b.id, ShardID: id +
				1}); l.Result.Status == protocol.StatusSuccess {
				for h := range l.SessionHoldings.Holdings.All() {
					held = append(held, h)
				}
			}
		}
		want(t, "holdings", len(held), 1)
		granted.wantIn(t, "the holding", held[0].SinceMillis)
	})
}

// TestADetachedSessionSaysWhoMadeIt: for a detached session, a host knows the creator from the log.
func TestADetachedSessionSaysWhoMadeIt(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	a.acquire("lock", protocol.Exclusive, 0, true)
	reader := speak(t, c, 1)
	was := reader.must(reader.ask(&protocol.SessionDescribe{SessionID: a.id})).SessionDescribe.Session
	address, since := string(was.Client.Address), was.SinceMillis
	_ = s.conn.Close()
	for was.Attached {
		was = reader.must(reader.ask(&protocol.SessionDescribe{SessionID: a.id})).SessionDescribe.Session
	}
	want(t, "address", string(was.Client.Address), address)
	want(t, "client", string(was.Client.Name), "speaker")
	want(t, "since", was.SinceMillis, since)
	owners, _ := (&started{s: reader, node: a.node}).described("lock")
	want(t, "the owner's client", string(owners[0].Client.Name), "speaker")
}
