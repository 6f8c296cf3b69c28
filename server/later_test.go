package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// TestANodeIsThereForAllOnceItsCreationIsAnswered: the host that is asked to make a semaphore may hear of the
// semaphore's node later than who asks.
func TestANodeIsThereForAllOnceItsCreationIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Network(func(n *memlog.Config) {
			n.Path.Delay = memlog.Exactly(20 * time.Millisecond)
		}))
		for id, host := range map[uint64]shard.HostID{0: 1, 1: 2} {
			if err := c.Elect(id, host); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.WaitReady(20 * time.Second); err != nil {
			t.Fatal(err)
		}
		made, data := speak(t, c, c.Leader(0)), speak(t, c, c.Leader(1))
		if c.Leader(0) == c.Leader(1) {
			t.Fatal("one host leads both shards")
		}
		node := made.node("/new")
		data.must(data.ask(&protocol.SemaphoreCreate{NodeID: node, Name: []byte("sem"), Limit: 1}))

		a := data.ask(&protocol.SemaphoreCreate{NodeID: node + 1, Name: []byte("sem"), Limit: 1})
		want(t, "status in a node that there is not", a.Result.Status, protocol.StatusNotFound)
	})
}
