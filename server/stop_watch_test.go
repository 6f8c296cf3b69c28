package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestAWatchThatIsStoppedBeforeItIsOpenDoesNotStayOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		node := s.must(s.ask(&protocol.NodeCreate{
			Path: []byte("/strict"), Config: protocol.NodeConfig{ReadConsistency: protocol.ConsistencyStrict},
		})).NodeCreate.Node.ID
		open := &protocol.Watch{NodeID: node, Name: []byte("sem"), Owners: true}
		for range 100 {
			watch := s.next + 1
			s.burst(open, &protocol.WatchStop{WatchID: watch}, &protocol.WatchStop{WatchID: watch})
			s.must(s.await(watch, protocol.KindWatch.Answer()))
			s.must(s.await(watch+1, protocol.KindWatchStop.Answer()))
			again := s.await(watch+2, protocol.KindWatchStop.Answer())
			want(t, "a second stop", again.Result.Status, protocol.StatusNotFound)
		}
		time.Sleep(time.Second) // for what is still to be opened
		want(t, "open watches", metric(t, c, `signalbox_shard_watches{shard="1"}`), 0)
	})
}
