package server_test

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// TestListsAreAsFreshAsIsAskedFor: a partitioned host was up to date recently; only clients that accept such an age get
// its answer.
func TestListsAreAsFreshAsIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		nodeAt(t, c, "/jobs")
		old := c.Leader(1)
		s := speak(t, c, old)
		a := s.session("/jobs", 20*time.Second)
		a.acquire("lock", protocol.Exclusive, 0, true)
		lists := func(consistency protocol.Consistency) [2]protocol.RequestMessage {
			return [2]protocol.RequestMessage{
				&protocol.SemaphoreList{NodeID: a.node, ShardID: 1, Consistency: consistency},
				&protocol.SessionHoldings{SessionID: a.id, ShardID: 1, Consistency: consistency},
			}
		}
		for _, m := range lists(protocol.ConsistencyStrict) {
			s.must(s.ask(m))
		}
		c.Isolate(old)
		for _, m := range lists(protocol.ConsistencyRelaxed) {
			s.must(s.ask(m))
		}
		for _, m := range lists(protocol.ConsistencyStrict) {
			if s.answered(s.say(m), 30*time.Second) {
				t.Errorf("%v: a host that is cut off answers STRICT", m.Kind())
			}
		}
	})
}

func TestAHostTellsOfTheMetaShardToo(t *testing.T) {
	c := servertest.Start(t, servertest.Hosts(3))
	for id := shard.HostID(1); id <= 3; id++ {
		s := speak(t, c, id)
		a := s.must(s.ask(&protocol.HostStatus{})).HostStatus
		if a.Meta.Term == 0 || a.Meta.AppliedIndex == 0 {
			t.Errorf("host %d says %+v of it", id, a.Meta)
		}
		want(t, "its leader", shard.HostID(a.Meta.LeaderHostID), c.Leader(0))
		want(t, "data shards", a.Shards.Len(), 1)
	}
}

// TestAHostAnswersTheLatestReportOfItsLoad: before the first report it answers that the load is unknown.
func TestAHostAnswersTheLatestReportOfItsLoad(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	said := func() protocol.HostLoadAnswer { return s.must(s.ask(&protocol.HostLoad{})).HostLoad }
	same := func(what string, want protocol.HostLoadAnswer) {
		t.Helper()
		if have := said(); !reflect.DeepEqual(have, want) {
			t.Errorf("%s: have %v, want %v", what, have, want)
		}
	}
	same("before a report", protocol.HostLoadAnswer{})
	c.Host(1).ReportLoad(server.Load{Span: time.Second, Requests: 1})
	c.Host(1).ReportLoad(server.Load{
		Span: 5 * time.Second, Requests: 1000, Failed: 3, P50: 400 * time.Microsecond, P99: 3 * time.Millisecond,
		CommitP99: 2 * time.Millisecond, DiskFree: 7, DiskTotal: 9,
	})
	same("the latest", protocol.HostLoadAnswer{
		SpanMillis: 5000, Requests: 1000, Failed: 3, P50Micros: 400, P99Micros: 3000, CommitP99Micros: 2000,
		DiskFreeBytes: 7, DiskTotalBytes: 9,
	})
}
