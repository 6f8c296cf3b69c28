package server_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestWhatCanNeverBeIsABadRequest: what no state can make right is a BAD_REQUEST in every request, not what the state
// happens to answer.
func TestWhatCanNeverBeIsABadRequest(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	node := s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	for _, m := range []protocol.RequestMessage{
		&protocol.SemaphoreCreate{NodeID: node, Limit: 1},
		&protocol.SemaphoreCreate{NodeID: node, Name: []byte("a")}, // a limit of 0
		&protocol.SemaphoreUpdate{NodeID: node},
		&protocol.SemaphoreDelete{NodeID: node},
		&protocol.Acquire{Mutation: a.mutation(), NodeID: node, Count: 1},
		&protocol.Acquire{Mutation: a.mutation(), NodeID: node, Name: []byte("a"), Ephemeral: true}, // a count of 0
		&protocol.Acquire{
			Mutation: a.mutation(), NodeID: node, Name: []byte("a"), Count: 1, Ephemeral: true,
			TimeoutMillis: protocol.MaxAcquireTimeoutMillis + 1,
		},
		&protocol.Release{Mutation: a.mutation(), NodeID: node},
		&protocol.SemaphoreDescribe{NodeID: node},
		&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("a"), WatchData: true}, // of no session
		&protocol.Watch{NodeID: node},
		&protocol.Watch{NodeID: node, Name: []byte("a"), View: []byte("part")}, // of a semaphore
		&protocol.Watch{NodeID: node, Name: []byte("a"), View: make([]byte, protocol.MaxViewBytes+1)},
		&protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: protocol.MaxSessionTimeoutMillis + 1},
		&protocol.SessionStart{},
		&protocol.NodeCreate{},
		&protocol.NodeDescribe{},
		&protocol.NodeAlter{},
		&protocol.NodeDrop{},
	} {
		result := s.ask(m).Result
		if result.Status != protocol.StatusBadRequest {
			t.Errorf("%v: %v", m.Kind(), result.Err())
		}
		if result.Message == "" {
			t.Errorf("%v: the refusal does not say what is wrong", m.Kind())
		}
	}
	// A timeout below zero is no number of the protocol, so it cannot be taken for 0 or for ever.
	payload := append([]byte{0x99, byte(protocol.KindAcquire), 77, 0, 0, 0, 1, 0xa1, 'a', 1}, 0xff)
	s.sayRaw(payload)
	refused := s.await(77, protocol.KindAcquire.Answer()).Result
	want(t, "of -1 ms", refused.Status, protocol.StatusBadRequest)
	want(t, "of -1 ms", refused.Message, "timeout_ms: -1 is not a uint")
}

// TestKindsThatTheHostDoesNotKnowAreNotWatched: the client is refused, rather than shown that there is no such object.
// An answer says which kind is watched.
func TestKindsThatTheHostDoesNotKnowAreNotWatched(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	node := s.node("/jobs")
	refused := s.ask(&protocol.Watch{NodeID: node, Name: []byte("a"), ObjectKind: 200}).Result
	want(t, "of an unknown kind", refused.Status, protocol.StatusUnsupported)
	want(t, "of an unknown kind", refused.Message, "this host knows no objects of the kind OBJECT_KIND_200")
	for _, kind := range []protocol.ObjectKind{0, protocol.ObjectSemaphore} {
		answer := s.must(s.ask(&protocol.Watch{NodeID: node, Name: []byte("a"), Data: true, ObjectKind: kind}))
		want(t, "what is watched", answer.Watch.ObjectKind, kind)
	}
}
