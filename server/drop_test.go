package server_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestOwnersAndWaitersHearThatTheirNodeWasDropped(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.node("/jobs")
	a, b := s.session("/jobs", 10*time.Second), s.session("/jobs", 10*time.Second)
	a.acquire("lock", protocol.Exclusive, 0, true)
	waiting, _ := b.acquire("lock", protocol.Exclusive, -1, true)
	s.must(s.ask(&protocol.NodeDrop{Path: []byte("/jobs")}))
	want(t, "why the waiter goes", s.await(waiting, protocol.KindAborted).Aborted.Result.Reason, protocol.AbortNodeDropped)
	want(t, "why the owner goes", s.await(0, protocol.KindHoldingLost).HoldingLost.Reason, protocol.AbortNodeDropped)
	want(t, "why the session goes", s.await(0, protocol.KindSessionEnded).SessionEnded.Reason, protocol.EndNodeDropped)
}
