package server_test

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestAHostThatIsBehindDoesNotSayThatTheClusterIs: a host that has started and has not heard of the others since does
// not know the level of the cluster. What it says of it must not be taken for final.
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
		&protocol.ProcessDescribe{NodeID: node, Name: []byte("p")},
		&protocol.RolloutDescribe{NodeID: node, Name: []byte("r")},
		&protocol.Watch{NodeID: node, Name: []byte("p"), ObjectKind: protocol.ObjectProcess},
	} {
		got := s.ask(m).Result.Status
		want(t, m.Kind().String(), got, protocol.StatusUnavailable)
	}
}

// TestAShardThatHasNotFollowedTheClusterYet: its level rises a moment after that of the cluster. Who asks in between is
// to ask again.
func TestAShardThatHasNotFollowedTheClusterYet(t *testing.T) {
	c := servertest.Start(t)
	speak(t, c, 1).node("/jobs")
	cluster := c.Host(1).Level().Cluster
	want(t, "the cluster's level", c.Host(1).AboveLevel(cluster).Status, protocol.StatusUnavailable)
	want(t, "the next level", c.Host(1).AboveLevel(cluster+1).Status, protocol.StatusUnsupported)
}
