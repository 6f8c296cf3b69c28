package raftlog

import (
	"sync/atomic"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// transfers counts the events of snapshots of the test's shard.
type transfers struct{ sent, unsent, received atomic.Int32 }

func (x *transfers) SnapshotSent(shardID uint64)     { x.count(&x.sent, shardID) }
func (x *transfers) SnapshotNotSent(shardID uint64)  { x.count(&x.unsent, shardID) }
func (x *transfers) SnapshotReceived(shardID uint64) { x.count(&x.received, shardID) }

func (x *transfers) count(what *atomic.Int32, shardID uint64) {
	if shardID == testShard {
		what.Add(1)
	}
}

func TestHostsAreNotifiedOfTheSnapshotsThatTheySendAndReceive(t *testing.T) {
	told := make(map[shard.HostID]*transfers)
	all, leader := openThree(t, func(c *Config) {
		fewEntries(c)
		told[c.Host] = new(transfers)
		c.Transfers = told[c.Host]
	})
	away := others(all, leader)[0]
	want := leader.mustPropose(0, 3)
	away.close()
	for leader.machine.saved.Load() < 3 { // one may take so long that others are left out
		want = append(want, leader.mustPropose(len(want), len(want)+10)...)
	}
	away.open()
	away.machine.awaitBatches(t, want)
	leads, lagged := told[leader.config.Host], told[away.config.Host]
	eventually(t, "the leader is told that it has sent a snapshot", func() bool { return leads.sent.Load() > 0 })
	eventually(t, "the other one is told that it has received it", func() bool { return lagged.received.Load() > 0 })
	if n := leads.received.Load() + lagged.sent.Load() + lagged.unsent.Load(); n > 0 {
		t.Errorf("%d of the wrong way", n)
	}
	for _, m := range others(all, leader)[1:] {
		if x := told[m.config.Host]; x.sent.Load()+x.unsent.Load()+x.received.Load() > 0 {
			t.Errorf("host %d had nothing to do with it", m.config.Host)
		}
	}
}
