package host

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// TestShardsAreAddedToAClusterAndRemoved: on the hosts' disks. A host starts its replica of an added shard again, and
// nothing is left of a removed one.
func TestShardsAreAddedToAClusterAndRemoved(t *testing.T) {
	t.Parallel() // mostly waiting
	of := newClusterSettings(t, "a", "b", "c")
	running := startSome(t, of...)
	awaitReady(t, running...)
	hurry(t, running...)
	operate(t, running, &meta.Rebalance{Action: protocol.RebalancePause})
	operate(t, running, &meta.ShardAdd{Hosts: []shard.HostID{running[1].Identity().HostID}})
	awaitRecords(t, running[0], "of an added shard that serves", func(r *hosts.Records) bool {
		s := r.Shard(2)
		return s != nil && s.Phase == hosts.ShardServing && s.Voters() == 3
	})
	node, key := filled(t, running[0])
	move := func(to hosts.ShardID) {
		t.Helper()
		slot := shard.SlotOf(node, []byte(key))
		operate(t, running, &meta.SlotMove{Slot: slot, To: to})
		awaitRecords(t, running[0], "of a slot that has moved", func(r *hosts.Records) bool {
			return r.Slots().Of(slot).Shard == uint64(to)
		})
		has(t, running, key)
	}
	restart := func() {
		t.Helper()
		for _, h := range running {
			h.Close()
		}
		running = startSome(t, of...)
		awaitReady(t, running...)
		has(t, running, key)
	}
	move(2)
	restart()
	for _, h := range running {
		if got := h.raft.Recorded(); !slices.Contains(got, 2) {
			t.Errorf("host %s has replicas of the shards %v", h.settings.Name, got)
		}
	}
	operate(t, running, &meta.ShardRemove{Shards: []meta.ShardID{2}})
	move(1)
	awaitRecords(t, running[0], "without the removed shard", func(r *hosts.Records) bool { return r.Shard(2) == nil })
	restart()
	for _, h := range running {
		if got := h.raft.Recorded(); slices.Contains(got, 2) {
			t.Errorf("host %s has replicas of the shards %v", h.settings.Name, got)
		}
		for _, p := range h.raft.Positions() {
			if p.Shard == 2 && p.Last != ^uint64(0) {
				t.Errorf("host %s has a log of shard 2: %+v", h.settings.Name, p)
			}
		}
	}
}

// filled creates a semaphore, and returns its node and its name.
func filled(t *testing.T, at *Host) (shard.NodeID, string) {
	t.Helper()
	ctx := within(t, time.Minute)
	c, err := client.Open(ctx, at.Addresses().Client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	node, err := c.CreateNode(ctx, "/kept", client.NodeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Session(ctx, "/kept")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(ctx)
	if err := s.Semaphore("kept").Create(ctx, 3, nil); err != nil {
		t.Fatal(err)
	}
	return shard.NodeID(node.ID), "kept"
}

// has checks that the semaphore is there, through every host.
func has(t *testing.T, all []*Host, name string) {
	t.Helper()
	for _, h := range all {
		ctx := within(t, time.Minute)
		c, err := client.Open(ctx, h.Addresses().Client)
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Session(ctx, "/kept")
		if err != nil {
			t.Fatal(err)
		}
		if d, err := s.Semaphore(name).Describe(ctx); err != nil || d.Limit != 3 {
			t.Errorf("host %s: %+v, %v", h.settings.Name, d, err)
		}
		_ = s.Close(ctx)
		_ = c.Close()
	}
}
