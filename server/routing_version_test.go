package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// TestNewsOfTheRoutingComeOnlyIfClientsRouteByWhatChanged: shard counters, weights and cordons do not concern clients.
// A host name does.
func TestNewsOfTheRoutingComeOnlyIfClientsRouteByWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		for id := range shard.HostID(3) {
			isOnline(t, c, id+1, 1)
		}
		s := speak(t, c, c.Leader(1))
		node, a := s.node("/jobs"), s.session("/jobs", 10*time.Minute)
		attaches := uint64(1)
		use := func() { // over a new connection, because the leader may have changed
			attaches++
			user := speak(t, c, c.Leader(1))
			user.must(user.ask(&protocol.SessionAttach{
				SessionID: a.id, SessionSecret: []byte("key"), AttachSequence: attaches,
			}))
			user.must(user.ask(&protocol.Acquire{Mutation: a.mutation(), NodeID: node, Name: []byte("lock"), Count: 1,
				Ephemeral: true}))
			user.must(user.ask(&protocol.Release{Mutation: a.mutation(), NodeID: node, Name: []byte("lock")}))
		}
		counted := func() uint64 { return c.Records().Shard(1).CountedAt }
		use()
		eventually(t, 3*time.Minute, "the counters are on record", func() bool {
			s.must(s.ask(&protocol.Ping{}))
			return counted() > 0
		})
		before, version := counted(), c.Host(1).Status().RoutingVersion
		s.routings = nil
		for range 5 {
			use()
			for range 3 {
				time.Sleep(20 * time.Second)
				s.must(s.ask(&protocol.Ping{}))
			}
		}
		operate(t, c, &meta.HostWeigh{Host: servertest.Name(1), Weight: 50})
		operate(t, c, &meta.HostCordon{Host: servertest.Name(1), On: true})
		time.Sleep(time.Second)
		s.must(s.ask(&protocol.Ping{}))
		if counted() == before {
			t.Error("the counters were not put on record again")
		}
		want(t, "version", c.Host(1).Status().RoutingVersion, version)
		want(t, "pushes", len(s.routings), 0)

		h := recordOf(c, 1)
		to := h.Addresses
		to.Client = "elsewhere.test:7420"
		operate(t, c, &meta.HostRename{Host: 1, Incarnation: h.Incarnation, Start: h.Start, Addresses: to})
		time.Sleep(time.Second)
		s.must(s.ask(&protocol.Ping{}))
		if got := c.Host(1).Status().RoutingVersion; got <= version || len(s.routings) == 0 {
			t.Errorf("a host has another address: version %d after %d, %d pushes", got, version, len(s.routings))
		}
	})
}
