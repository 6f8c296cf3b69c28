package server_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// gate is the reason for which a host, or a shard's log, refuses changes.
type gate struct{ full atomic.Bool }

func (g *gate) Guard() error {
	if g.full.Load() {
		return errors.New("the disk is full")
	}
	return nil
}

// guardedLog is a log guarded by a gate.
type guardedLog struct {
	*memlog.Log
	*gate
}

func TestAFullDiskOrMemoryStopsChangesAndNothingElse(t *testing.T) {
	for name, guard := range map[string]func(*gate, *server.Config){
		"of the host":            func(g *gate, c *server.Config) { c.Guard = g.Guard },
		"the memory of the host": func(g *gate, c *server.Config) { c.Memory = g.Guard },
		"of a majority": func(g *gate, c *server.Config) {
			open := c.Logs
			c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
				log, err := open(id, sm)
				if err != nil {
					return nil, err
				}
				return guardedLog{log.(*memlog.Log), g}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var g gate
			c := servertest.Start(t, servertest.Config(func(c *server.Config) { guard(&g, c) }))
			stopChangesAndNothingElse(t, c, &g.full)
		})
	}
}

// TestAFullDiskOfAnotherHostThanTheLeadersStopsNoChange: the full host's clients are redirected to the leader.
func TestAFullDiskOfAnotherHostThanTheLeadersStopsNoChange(t *testing.T) {
	c := servertest.Start(t, servertest.Hosts(3), servertest.Config(func(c *server.Config) {
		if c.ID == 2 {
			c.Guard = func() error { return errors.New("the disk is full") }
		}
	}))
	for id := range uint64(2) {
		if err := c.Elect(id, 1); err != nil {
			t.Fatal(err)
		}
	}
	node := speak(t, c, 1).node("/jobs")
	s := speak(t, c, 2)
	for _, m := range []protocol.RequestMessage{
		&protocol.SemaphoreCreate{NodeID: node, Name: []byte("new"), Limit: 1},
		&protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: 1000, SessionSecret: []byte("key")},
		&protocol.NodeCreate{Path: []byte("/new")},
	} {
		want(t, m.Kind().String(), s.ask(m).Result.Status, protocol.StatusMoved)
	}
}

func stopChangesAndNothingElse(t *testing.T, c *servertest.Cluster, full *atomic.Bool) {
	t.Helper()
	s := speak(t, c, 1)
	node := s.node("/jobs")
	a, b := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
	for _, name := range []string{"config", "unneeded"} {
		s.must(s.ask(&protocol.SemaphoreCreate{NodeID: node, Name: []byte(name), Limit: 1, Data: []byte("old")}))
	}
	s.node("/unneeded")
	a.acquire("lock", protocol.Exclusive, 0, true)
	waits, _ := b.acquire("lock", protocol.Exclusive, -1, true)

	full.Store(true)
	for _, m := range []protocol.RequestMessage{
		&protocol.SemaphoreCreate{NodeID: node, Name: []byte("new"), Limit: 1},
		&protocol.SemaphoreUpdate{NodeID: node, Name: []byte("config"), Data: []byte("new")},
		&protocol.Acquire{Mutation: b.mutation(), NodeID: node, Name: []byte("other"), Count: 1, Ephemeral: true},
		&protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: 1000, SessionSecret: []byte("key")},
		&protocol.SessionAttach{SessionID: b.id, SessionSecret: []byte("key"), AttachSequence: 1, Change: true,
			TimeoutMillis: 5000},
		&protocol.NodeCreate{Path: []byte("/new")},
		&protocol.NodeAlter{Path: []byte("/jobs")},
	} {
		want(t, m.Kind().String(), s.ask(m).Result.Status, protocol.StatusStorageFull)
	}
	status := s.must(s.ask(&protocol.HostStatus{})).HostStatus
	want(t, "refusal", string(status.Refusal), "the disk is full")
	for _, consistency := range []protocol.Consistency{protocol.ConsistencyRelaxed, protocol.ConsistencyStrict} {
		read := s.must(s.ask(&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("config"),
			Consistency: consistency}))
		want(t, "data", string(read.SemaphoreDescribe.Semaphore.Data), "old")
	}
	s.must(s.ask(&protocol.Ping{}))
	drawn := s.must(s.ask(&protocol.SessionAttach{
		SessionID: b.id, SessionSecret: []byte("key"), AttachSequence: 2, Sequences: true,
	}))
	want(t, "numbers for who comes to release", drawn.SessionAttach.SequenceBase > 0, true)
	want(t, "released", a.release("lock"), true)
	s.await(waits, protocol.KindGranted)
	s.must(s.ask(&protocol.SessionStop{SessionID: a.id}))
	s.must(s.ask(&protocol.SemaphoreDelete{NodeID: node, Name: []byte("unneeded")}))
	s.must(s.ask(&protocol.NodeDrop{Path: []byte("/unneeded")}))

	full.Store(false)
	status = s.must(s.ask(&protocol.HostStatus{})).HostStatus
	want(t, "refusal", string(status.Refusal), "")
	s.must(s.ask(&protocol.SemaphoreUpdate{NodeID: node, Name: []byte("config"), Data: []byte("new")}))
}
