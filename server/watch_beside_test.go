package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestWatchesAreOpenedBesideTheLoop: a loop that opened a crowd's watches would read nothing else meanwhile, and locks
// of others would wait.
func TestWatchesAreOpenedBesideTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		node := s.node("/jobs")
		release := c.Host(1).HoldOpenings()
		watch := s.say(&protocol.Watch{NodeID: node, Name: []byte("a")})
		s.must(s.ask(&protocol.NodeDescribe{Path: []byte("/jobs")}))
		if s.has(watch, protocol.KindWatch.Answer()) || s.answered(watch, time.Second) {
			t.Error("the loop has opened a watch")
		}
		stop := s.say(&protocol.WatchStop{WatchID: watch})
		release()
		s.must(s.await(watch, protocol.KindWatch.Answer()))
		s.must(s.await(stop, protocol.KindWatchStop.Answer()))
	})
}
