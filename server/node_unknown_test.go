package server

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/test/memlog"
)

// openAlone opens a single host on an in-memory log, and waits until the host serves its shard. The caller closes the
// host.
func openAlone(tb testing.TB) *Host {
	tb.Helper()
	return openShards(tb, 1, func(_ uint64, l shard.Log) shard.Log { return l })
}

// openShards is openAlone with the given number of data shards, on logs that the test may wrap.
func openShards(tb testing.TB, shards int, around func(group uint64, l shard.Log) shard.Log) *Host {
	tb.Helper()
	return openChanged(tb, shards, around, func(*Config) {})
}

// openChanged is openShards with config changes.
func openChanged(tb testing.TB, shards int, around func(group uint64, l shard.Log) shard.Log,
	change func(*Config)) *Host {
	tb.Helper()
	network, err := memlog.NewNetwork(memlog.Config{Seed: 1, Hosts: []shard.HostID{1}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = network.Close() })
	network.Start()
	config := Config{
		ID: 1, Incarnation: hosts.Incarnation{1}, Start: hosts.Start{Number: 1}, Name: "host-1", Cluster: "test",
		ClientAddress: "host-1:1", RaftAddress: "host-1:2",
		Hosts: []shard.HostID{1}, Shards: shards,
		Logs: func(group uint64, sm shard.StateMachine) (shard.Log, error) {
			l, err := network.Open(1, memlog.GroupID(group+1), sm)
			return around(group, l), err
		},
	}
	change(&config)
	h, err := Open(config)
	if err != nil {
		tb.Fatal(err)
	}
	const within = 30 * time.Second
	for late := time.Now().Add(within); h.Ready() != nil; time.Sleep(time.Millisecond) { // no event signals readiness
		if time.Now().After(late) {
			tb.Fatalf("not within %v: the host is ready: %v", within, h.Ready())
		}
	}
	return h
}

// TestANodeThatIsNotKnownIsReadStrictly: an unknown node's default consistency is unknown, and a STRICT read is always
// correct.
func TestANodeThatIsNotKnownIsReadStrictly(t *testing.T) {
	h := openAlone(t)
	defer h.Close()
	for asked, want := range map[protocol.Consistency]protocol.Consistency{
		protocol.ConsistencyUnset:   protocol.ConsistencyStrict,
		protocol.ConsistencyRelaxed: protocol.ConsistencyRelaxed,
	} {
		if got := h.core.Consistency(asked, 1<<30); got != want {
			t.Errorf("asked for %v it is %v", asked, got)
		}
	}
}
