package server_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestAFullDiskStopsChangesAndNothingElse(t *testing.T) {
	var full atomic.Bool
	c := servertest.Start(t, servertest.Config(func(c *server.Config) {
		c.Guard = func() error {
			if full.Load() {
				return errors.New("the disk is full")
			}
			return nil
		}
	}))
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
		&protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: 1000, Key: []byte("key")},
		&protocol.SessionAttach{SessionID: b.id, Key: []byte("key"), AttachSequence: 1, Change: true,
			TimeoutMillis: 5000},
		&protocol.NodeCreate{Path: []byte("/new")},
		&protocol.NodeAlter{Path: []byte("/jobs")},
	} {
		want(t, m.Kind().String(), s.ask(m).Result.Status, protocol.StatusStorageFull)
	}
	for _, consistency := range []protocol.Consistency{protocol.ConsistencyRelaxed, protocol.ConsistencyStrict} {
		read := s.must(s.ask(&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("config"),
			Consistency: consistency}))
		want(t, "data", string(read.SemaphoreDescribe.Semaphore.Data), "old")
	}
	s.must(s.ask(&protocol.Ping{}))
	s.must(s.ask(&protocol.SessionAttach{SessionID: b.id, Key: []byte("key"), AttachSequence: 2}))
	want(t, "released", a.release("lock"), true)
	s.await(waits, protocol.KindGranted)
	s.must(s.ask(&protocol.SessionStop{SessionID: a.id}))
	s.must(s.ask(&protocol.SemaphoreDelete{NodeID: node, Name: []byte("unneeded")}))
	s.must(s.ask(&protocol.NodeDrop{Path: []byte("/unneeded")}))

	full.Store(false)
	s.must(s.ask(&protocol.SemaphoreUpdate{NodeID: node, Name: []byte("config"), Data: []byte("new")}))
}
