package raftlog

import (
	"sync/atomic"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// transfers counts snapshot events of the test's shard.
type transfers struct{ sent, unsent, received atomic.Int32 }

func (t *transfers) SnapshotSent(shardID uint64)     { t.count(&t.sent, shardID) }
func (t *transfers) SnapshotNotSent(shardID uint64)  { t.count(&t.unsent, shardID) }
func (t *transfers) SnapshotReceived(shardID uint64) { t.count(&t.received, shardID) }

func (t *transfers) count(what *atomic.Int32, shardID uint64) {
	if shardID == testShard {
		what.Add(1)
	}
}

func TestHostsAreNotifiedOfTheSnapshotsThatTheySendAndReceive(t *testing.T) {
	counts := make(map[shard.HostID]*transfers)
	all, leader := openThree(t, func(c *Config) {
		fewEntries(c)
		counts[c.Host] = new(transfers)
		c.Transfers = counts[c.Host]
	})
	away := others(all, leader)[0]
	want := leader.mustPropose(0, 3)
	away.close()
	for leader.machine.saved.Load() < 3 { // one may be so slow that others are skipped
		want = append(want, leader.mustPropose(len(want), len(want)+10)...)
	}
	away.open()
	away.machine.awaitBatches(t, want)
	leads, lagged := counts[leader.config.Host], counts[away.config.Host]
	eventually(t, "the leader is notified that it has sent a snapshot", func() bool { return leads.sent.Load() > 0 })
	eventually(t, "the other one is notified that it has it", func() bool { return lagged.received.Load() > 0 })
	if n := leads.received.Load() + lagged.sent.Load() + lagged.unsent.Load(); n > 0 {
		t.Errorf("%d of the wrong way", n)
	}
	for _, m := range others(all, leader)[1:] {
		if x := counts[m.config.Host]; x.sent.Load()+x.unsent.Load()+x.received.Load() > 0 {
			t.Errorf("host %d had nothing to do with it", m.config.Host)
		}
	}
}
