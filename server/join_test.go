package server_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/test/memlog"
)

// TestTheLeaderHearsWhoAnswers: a host asks the leader about a host to be replaced.
func TestTheLeaderHearsWhoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := operated(t)
		leader := c.Host(1)
		awaitThat(t, "both others are heard", func() bool { return leader.Hears(2) && leader.Hears(3) })
		if c.Host(2).Hears(3) || leader.Hears(9) {
			t.Error("a host that does not lead hears, or one that is not there is heard")
		}
		c.Stop(3)
		time.Sleep(1900 * time.Millisecond)
		if !leader.Hears(3) {
			t.Error("a host that has just stopped is taken for silent")
		}
		awaitThat(t, "the host is silent", func() bool { return !leader.Hears(3) })
		if !leader.Hears(2) {
			t.Error("the host that answers is not heard")
		}
	})
}

// TestAHostIsPutOnRecordByTheLeaderAlone: repeated joins get the same answer.
func TestAHostIsPutOnRecordByTheLeaderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := operated(t)
		records := recordsOf(c, 1)
		ask := hosts.Join{Cluster: records.Cluster(), Name: "d", Incarnation: hosts.Incarnation{9}, Trusted: true,
			Addresses: hosts.Addresses{Raft: "d:7421", Client: "d:7420"}, Version: "v1.0.0", Level: level.Newest}
		if a, err := c.Host(2).Join(t.Context(), ask); err == nil {
			t.Errorf("a host that does not lead answers %+v", a)
		}
		for i := range 2 {
			a, err := c.Host(1).Join(t.Context(), ask)
			if err != nil || a.Status != protocol.StatusSuccess || a.Host != 4 || a.Existed != (i == 1) {
				t.Errorf("join %d: %+v, %v", i, a, err)
			}
		}
		ask.Incarnation[0]++
		if a, err := c.Host(1).Join(t.Context(), ask); err != nil || a.Status != protocol.StatusAlreadyExists {
			t.Errorf("with the name of another: %+v, %v", a, err)
		}
	})
}

// TestAHostWithoutReplicasSaysWhatItWaitsFor: a joined host without replicas.
func TestAHostWithoutReplicasSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := server.Open(server.Config{
			ID: 4, Name: "d", Cluster: "some", ClientAddress: "d:7420", RaftAddress: "d:7421", Shards: 2,
			Incarnation: hosts.Incarnation{9}, Start: hosts.Start{Number: 1}, Hosts: []shard.HostID{1, 4},
			Logs: func(uint64, shard.StateMachine) (shard.Log, error) { return nil, shard.ErrNotMember },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if err := h.Ready(); err == nil || !strings.Contains(err.Error(), "replicas of shards 0, 1, 2") {
			t.Errorf("it says: %v", err)
		}
		if leader := h.Leader(); leader != 0 {
			t.Errorf("host %d leads", leader)
		}
		if _, _, ok := h.Records(); ok {
			t.Error("it has records")
		}
	})
}

// handovers records the targets of leadership transfers.
type handovers struct {
	mu sync.Mutex
	to []shard.HostID
}

// watched is a log that records its leadership transfers.
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
