package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// moment is a stretch of the clock in which something was done.
type moment struct{ from, to time.Time }

// during does something when the moment before is over, by the time of day of every host too.
func during(do func()) moment {
	time.Sleep(2 * aTurn)
	from := time.Now()
	do()
	return moment{from, time.Now()}
}

// aTurn is by how much a host's time of day may differ: it sets its clock by it in each turn of its loop.
const aTurn = time.Second

// wantIn fails the test where a time of the protocol is not in the stretch.
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

// TestADetachedSessionSaysWhoMadeIt: of a session that is attached nowhere, a host knows what the log says.
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
