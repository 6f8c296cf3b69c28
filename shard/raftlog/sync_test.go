package raftlog

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// TestHostsSyncABatchOnce: hosts sync about once per batch, and not again for the following commit position.
func TestHostsSyncABatchOnce(t *testing.T) {
	var syncs [4]atomic.Int64
	members := newCluster(t, 3, func(c *Config) {
		id := c.Host
		c.Synced = func(time.Duration) { syncs[id].Add(1) }
	})
	openAll(members)
	leader := leaderOf(t, members)
	const batches = 200
	var before [4]int64
	for i := range batches {
		if i == 10 { // the first of a term are synced
			for id := range before {
				before[id] = syncs[id].Load()
			}
		}
		if o := proposeTo(leader.log, fmt.Sprint(i)); o != shard.OutcomeApplied {
			t.Fatalf("batch %d: %v", i, o)
		}
	}
	for _, m := range members {
		id := m.config.Host
		if n := syncs[id].Load() - before[id]; n > batches*3/2 {
			t.Errorf("host %d synced %d times for %d batches", id, n, batches-10)
		}
	}
}
