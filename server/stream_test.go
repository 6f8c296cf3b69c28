package server_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestAStreamingWatchShowsTheStateAndThenEveryChange(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	id := s.say(&protocol.Watch{NodeID: a.node, Name: []byte("endpoints"), Owners: true, Data: true})
	s.must(s.await(id, protocol.KindWatch.Answer()))
	nothing := s.await(id, protocol.KindWatchSnapshot).WatchSnapshot
	want(t, "exists before it was made", nothing.Exists, false)

	s.must(s.ask(&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: a.node, Name: []byte("endpoints"), Limit: 10,
		Data: []byte("v1")}))
	made := s.await(id, protocol.KindWatchSnapshot).WatchSnapshot
	want(t, "exists", made.Exists, true)
	want(t, "data", string(made.Data), "v1")
	last := made.Revision

	_, owned := a.acquire("endpoints", 1, 0, false)
	joined := s.await(id, protocol.KindWatchDelta).WatchDelta
	want(t, "from", joined.From, last)
	want(t, "joined", joined.Joined.Len(), 1)
	for o := range joined.Joined.All() {
		want(t, "order id", o.OrderID, owned.OrderID)
	}
	last = joined.To
	a.release("endpoints")
	gone := s.await(id, protocol.KindWatchDelta).WatchDelta
	want(t, "from", gone.From, last)
	want(t, "gone", gone.Gone.Len(), 1)

	// Another connection goes on from a revision that it has seen, and gets what it missed.
	other := speak(t, c, 1)
	again := other.say(&protocol.Watch{NodeID: a.node, Name: []byte("endpoints"), Since: made.Revision, Owners: true,
		Data: true})
	other.must(other.await(again, protocol.KindWatch.Answer()))
	missed := other.await(again, protocol.KindWatchDelta).WatchDelta
	want(t, "to", missed.To, gone.To)

	s.must(s.ask(&protocol.WatchStop{WatchID: id}))
	madeUp := other.say(&protocol.Watch{NodeID: a.node, Name: []byte("endpoints"), Since: 1 << 40, Owners: true})
	end := other.await(madeUp, protocol.KindWatchEnd).WatchEnd
	want(t, "a revision that never was", end.Result.Status, protocol.StatusBadRequest)
}
