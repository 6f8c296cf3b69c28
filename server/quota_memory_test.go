package server_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/memlog"
)

// others is the memory allowed for a shard by the remaining hosts with replicas.
type others struct {
	mu    sync.Mutex
	bytes uint64
	all   bool
}

func (o *others) set(bytes uint64, all bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes, o.all = bytes, all
}

// Allowance is raftlog.Log.Allowance.
func (o *others) Allowance() (bytes uint64, all bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes, o.all
}

// sharedLog is the log of a shard with replicas on other hosts.
type sharedLog struct {
	*memlog.Log
	*others
}

// TestAShardHasTheQuotaOfItsSmallestHost: the quota does not grow before all hosts have reported, because a missing
// host may be the smallest.
func TestAShardHasTheQuotaOfItsSmallestHost(t *testing.T) {
	o := &others{bytes: 10 << 20, all: true}
	c := servertest.Start(t, servertest.Config(func(c *server.Config) {
		c.ShardBytes = 64 << 20
		open := c.Logs
		c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
			log, err := open(id, sm)
			if err != nil {
				return nil, err
			}
			return sharedLog{log.(*memlog.Log), o}, nil
		}
	}))
	limit := func() uint64 { return c.Host(1).Usage(1, 0).ByteLimit }
	await := func(what string, want uint64) {
		t.Helper()
		eventually(t, time.Minute, what, func() bool { return limit() == want })
	}
	await("another host has less memory", 10<<20)
	o.set(20<<20, false)
	o.set(5<<20, false)
	await("a host with less memory has come", 5<<20)
	o.set(20<<20, false)
	time.Sleep(100 * time.Millisecond)
	await("not all have reported", 5<<20)
	o.set(20<<20, true)
	await("all have reported", 20<<20)
	o.set(0, true)
	await("no other host has a bound", 64<<20)
}

// TestAnAddedShardTakesNoQuotaFromAShardWithSlots: the shards with all the slots keep their quotas.
func TestAnAddedShardTakesNoQuotaFromAShardWithSlots(t *testing.T) {
	c := servertest.Start(t, servertest.Shards(2), servertest.Config(func(c *server.Config) {
		c.ShardShare = func(shards int) uint64 { return 96 << 20 / uint64(shards) }
	}))
	s := shards{t, c}
	s.do(&meta.Rebalance{Action: protocol.RebalancePause})
	s.do(&meta.ShardAdd{Hosts: []shard.HostID{1}})
	limit := func(id uint64) uint64 { return c.Host(1).Usage(id, 0).ByteLimit }
	eventually(t, time.Minute, "the quotas", func() bool {
		return limit(1) == 48<<20 && limit(2) == 48<<20 && limit(3) == 32<<20
	})
}

// TestAHostWithoutMemoryForTwoStatesIsSentOne: the new state replaces the old one, and is complete.
func TestAHostWithoutMemoryForTwoStatesIsSentOne(t *testing.T) {
	var asked atomic.Uint64
	c := servertest.Start(t, servertest.Hosts(3), servertest.Network(func(n *memlog.Config) { n.SnapshotEvery = 5 }),
		servertest.Config(func(c *server.Config) {
			c.Fits = func(bytes uint64) error {
				asked.Store(max(asked.Load(), bytes))
				return errors.New("no memory")
			}
		}))
	for id := range uint64(2) {
		if err := c.Elect(id, 1); err != nil {
			t.Fatal(err)
		}
	}
	s := speak(t, c, 1)
	node := s.node("/jobs")
	create := func(n int) {
		s.must(s.ask(&protocol.SemaphoreCreate{NodeID: node, Name: fmt.Append(nil, n), Limit: 1}))
	}
	create(0)
	same := func() bool { return c.Host(3).Usage(1, 0) == c.Host(1).Usage(1, 0) }
	eventually(t, time.Minute, "a follower that has the first", same)
	held := c.Host(3).Usage(1, 0).Bytes
	c.Isolate(3)
	for n := range 50 {
		create(n + 1)
	}
	c.Heal()
	eventually(t, time.Minute, "a follower that has all", same)
	if asked.Load() < held {
		t.Errorf("memory for %d bytes was asked for, and %d were held", asked.Load(), held)
	}
}
