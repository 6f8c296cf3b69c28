package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level/leveltest"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestAHostThatIsBehindDoesNotSayThatTheClusterIs: a restarted host without contact to others does not know the
// cluster's level. Its answers about the level must not be final.
func TestAHostThatIsBehindDoesNotSayThatTheClusterIs(t *testing.T) {
	c := servertest.Start(t, servertest.Hosts(3))
	for id := range uint64(2) {
		if err := c.Elect(id, 1); err != nil {
			t.Fatal(err)
		}
	}
	node := speak(t, c, 1).node("/jobs")
	c.Stop(3)
	c.Isolate(3)
	if err := c.Restart(3); err != nil {
		t.Fatal(err)
	}
	s := speak(t, c, 3)
	for _, m := range []protocol.RequestMessage{
		&protocol.ProcessDescribe{SectionRequest: protocol.SectionRequest{NodeID: node, Name: []byte("p")}},
		&protocol.RolloutDescribe{SectionRequest: protocol.SectionRequest{NodeID: node, Name: []byte("r")}},
		&protocol.Watch{NodeID: node, Name: []byte("p"), ObjectKind: protocol.ObjectProcess},
	} {
		got := s.ask(m).Result.Status
		want(t, m.Kind().String(), got, protocol.StatusUnavailable)
	}
}

// TestAShardThatHasNotFollowedTheClusterYet: a shard's level rises shortly after the cluster's. A client in between
// must retry.
func TestAShardThatHasNotFollowedTheClusterYet(t *testing.T) {
	c := servertest.Start(t)
	speak(t, c, 1).node("/jobs")
	cluster := c.Host(1).Level().Cluster
	want(t, "the cluster's level", c.Host(1).AboveLevel(cluster).Status, protocol.StatusUnavailable)
	want(t, "the next level", c.Host(1).AboveLevel(cluster+1).Status, protocol.StatusUnsupported)
}

// halfRegistered runs three hosts, the third isolated before its registration. If the third host was faster than the
// isolation, another cluster is tried.
func halfRegistered(t *testing.T) *servertest.Cluster {
	t.Helper()
	leveltest.Raise(t) // the unregistered host holds the level back
	for range 20 {
		c, err := servertest.Run(servertest.Hosts(3))
		if err != nil {
			t.Fatal(err)
		}
		c.Isolate(3)
		time.Sleep(10 * time.Second) // a registration may be under way
		if l := c.Leader(0); l != 0 && l != 3 && len(c.Host(l).Level().HeldBy) == 1 {
			return c
		}
		c.Close()
	}
	t.Fatal("the third host always registers before its isolation")
	return nil
}

// TestHostsAskANewClusterAgain: until all hosts have registered, the cluster has no access rules and no host records.
// That is temporary, so clients wait instead of being refused.
func TestHostsAskANewClusterAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := halfRegistered(t)
		defer c.Close()
		s := speak(t, c, c.Leader(0))
		for _, m := range []protocol.RequestMessage{
			&protocol.AccessChange{Action: protocol.AccessDeleteRole, Role: []byte("any")},
			&protocol.HostUpdate{Action: protocol.HostCordon, Host: []byte("host-1")},
			&protocol.ClusterDescribe{}, &protocol.ClusterWhy{},
		} {
			if got := s.ask(m).Result; got.Status != protocol.StatusUnavailable || got.WaitMillis == 0 {
				t.Errorf("%v: %+v", m.Kind(), got)
			}
		}
		c.Heal()
		if err := c.WaitReady(time.Minute); err != nil {
			t.Fatal(err)
		}
		for s.ask(&protocol.ClusterDescribe{}).Result.Status != protocol.StatusSuccess {
			time.Sleep(10 * time.Millisecond)
		}
	})
}

// TestAReadThatNamesALaterGenerationNeedsABarrier: a host unaware of the generation may show a state from before the
// slot left or arrived. With a barrier the host knows.
func TestAReadThatNamesALaterGenerationNeedsABarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		leadMeta(t, c, 1)
		node := speak(t, c, 1).node("/jobs")
		s := speak(t, c, 2)
		describe := func(generation uint64) protocol.Status {
			return s.ask(&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("a"), Generation: generation,
				Consistency: protocol.ConsistencyRelaxed}).Result.Status
		}
		for _, generation := range []uint64{0, 1} {
			want(t, "a read of a host in contact", describe(generation), protocol.StatusNotFound)
		}
		c.Isolate(2)
		want(t, "a relaxed read", describe(0), protocol.StatusNotFound)
		part := protocol.SectionRequest{NodeID: node, Name: []byte("a"), Generation: 1,
			Consistency: protocol.ConsistencyRelaxed}
		for _, m := range []protocol.RequestMessage{
			&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("a"), Generation: 1,
				Consistency: protocol.ConsistencyRelaxed},
			&protocol.Watch{NodeID: node, Name: []byte("a"), Generation: 1},
			&protocol.RolloutDescribe{SectionRequest: part}, &protocol.ProcessDescribe{SectionRequest: part},
		} {
			if got := s.ask(m).Result; got.Status != protocol.StatusUnavailable {
				t.Errorf("%v: %+v", m.Kind(), got)
			}
		}
	})
}
