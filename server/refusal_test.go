package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestARefusalSaysWhy(t *testing.T) {
	s := speak(t, servertest.Start(t), 1)
	s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	box := []byte("box")
	s.must(s.ask(&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: a.node, Name: box, Limit: 1,
		Data: []byte("v1")}))
	for _, c := range []struct {
		request protocol.RequestMessage
		status  protocol.Status
		says    string
	}{
		{&protocol.SemaphoreUpdate{Mutation: a.mutation(), NodeID: a.node, Name: []byte("none")},
			protocol.StatusNotFound, "no semaphore"},
		{&protocol.SemaphoreUpdate{NodeID: a.node + 7, Name: box}, protocol.StatusNotFound, "no node"},
		{&protocol.SemaphoreUpdate{Mutation: a.mutation(), NodeID: a.node, Name: box, OrderID: 9},
			protocol.StatusFenced, "order id"},
		{&protocol.SemaphoreUpdate{Mutation: a.mutation(), NodeID: a.node, Name: box, ExpectedRevision: 99},
			protocol.StatusPreconditionFailed, "another revision"},
		{&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: a.node, Name: box, Limit: 1},
			protocol.StatusAlreadyExists, "persistent"},
		{&protocol.Acquire{Mutation: a.mutation(), NodeID: a.node, Name: box, Count: 2}, protocol.StatusBadRequest,
			"above the limit"},
		{&protocol.Acquire{Mutation: a.mutation(), NodeID: a.node, Name: box, Count: 1, Ephemeral: true},
			protocol.StatusPreconditionFailed, "ephemeral"},
	} {
		got := s.ask(c.request).Result
		if got.Status != c.status || !strings.Contains(got.Message, c.says) {
			t.Errorf("%v was answered by %v: %q, without %q", c.request.Kind(), got.Status, got.Message, c.says)
		}
	}
	a.acquire("box", 1, 0, false)
	got := s.ask(&protocol.SemaphoreDelete{Mutation: a.mutation(), NodeID: a.node, Name: box}).Result
	if got.Status != protocol.StatusPreconditionFailed || !strings.Contains(got.Message, "force") {
		t.Errorf("a delete of what is in use was answered by %v: %q", got.Status, got.Message)
	}
}
