package server_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// handovers are the hosts that leadership was to go to.
type handovers struct {
	mu sync.Mutex
	to []shard.HostID
}

// watched is a log that notes them.
type watched struct {
	*memlog.Log
	to *handovers
}

func (w watched) Transfer(to shard.HostID) error {
	w.to.mu.Lock()
	w.to.to = append(w.to.to, to)
	w.to.mu.Unlock()
	return w.Log.Transfer(to)
}

func TestAHostThatLeavesHandsOverToOneThatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const shards = 8
		var seen handovers
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(shards),
			servertest.Config(func(c *server.Config) {
				open := c.Logs
				c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
					log, err := open(id, sm)
					if err != nil {
						return nil, err
					}
					return watched{log.(*memlog.Log), &seen}, nil
				}
			}))
		const away, leaving, stays = 1, 2, 3
		c.Isolate(away)
		time.Sleep(5 * time.Second)
		for id := range uint64(shards + 1) {
			if err := c.Elect(id, leaving); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Second)
		c.Host(leaving).Leave(3 * time.Second)
		for id := range uint64(shards + 1) {
			want(t, "leader", c.Leader(id), shard.HostID(stays))
		}
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if len(seen.to) < shards+1 {
			t.Fatalf("%d handovers", len(seen.to))
		}
		for _, to := range seen.to {
			want(t, "the next leader", to, shard.HostID(stays))
		}
	})
}
