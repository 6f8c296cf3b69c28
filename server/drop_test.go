package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/memlog"
)

func TestOwnersAndWaitersHearThatTheirNodeWasDropped(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.node("/jobs")
	a, b := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
	a.acquire("lock", protocol.Exclusive, 0, true)
	waiting, _ := b.acquire("lock", protocol.Exclusive, -1, true)
	s.must(s.ask(&protocol.NodeDrop{Path: []byte("/jobs")}))
	want(t, "why the waiter goes", s.await(waiting, protocol.KindAborted).Aborted.Result.Reason,
		protocol.AbortNodeDropped)
	want(t, "why the owner goes", s.await(0, protocol.KindHoldingLost).HoldingLost.Reason, protocol.AbortNodeDropped)
	want(t, "why the session goes", s.await(0, protocol.KindSessionEnded).SessionEnded.Reason, protocol.EndNodeDropped)
}

// TestNoSessionStartsInANodeWhoseDropWasAnswered: a host that has not heard of a drop yet starts no session in the
// node: one that is asked for after the drop was answered is refused by every host.
func TestNoSessionStartsInANodeWhoseDropWasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Network(func(n *memlog.Config) {
			n.Path.Delay = memlog.Exactly(20 * time.Millisecond) // so that hosts hear of the drop one after the other
		}))
		nodeAt(t, c, "/jobs")
		if err := c.Elect(0, c.Leader(1)%3+1); err != nil {
			t.Fatal(err)
		}
		if err := c.WaitReady(time.Minute); err != nil {
			t.Fatal(err)
		}
		operator, s := speak(t, c, c.Leader(0)), speak(t, c, c.Leader(1))
		if c.Leader(0) == c.Leader(1) {
			t.Fatal("one host leads both shards")
		}
		time.Sleep(time.Second) // for the new leader to be known everywhere
		s.session("/jobs", 10*time.Second)
		operator.must(operator.ask(&protocol.NodeDrop{Path: []byte("/jobs")}))
		start := &protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: 10_000, Key: []byte("key")}
		want(t, "a session after the drop", s.ask(start).Result.Status, protocol.StatusNotFound)
	})
}
