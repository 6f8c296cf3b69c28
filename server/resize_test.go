package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestAHigherLimitGrantsThoseWhoWait(t *testing.T) {
	s := speak(t, servertest.Start(t), 1)
	s.node("/jobs")
	a, b, d := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
	made := s.must(s.ask(&protocol.SemaphoreCreate{NodeID: a.node, Name: []byte("slots"), Limit: 2})).SemaphoreCreate
	_, owner := a.acquire("slots", 2, 0, false)
	want(t, "outcome", owner.Outcome, protocol.Acquired)
	first, _ := b.acquire("slots", 1, -1, false)
	second, _ := d.acquire("slots", 2, -1, false)
	watch := s.say(&protocol.SemaphoreDescribe{NodeID: a.node, Name: []byte("slots"), WatchData: true, SessionID: a.id})
	s.must(s.await(watch, protocol.KindSemaphoreDescribe.Answer()))

	guarded := &protocol.SemaphoreResize{Mutation: a.mutation(), NodeID: a.node, Name: []byte("slots"), Limit: 5,
		ExpectedRevision: made.Revision}
	refused := s.ask(guarded).Result
	if refused.Status != protocol.StatusPreconditionFailed || !strings.Contains(refused.Message, "another revision") {
		t.Errorf("%v: %s", refused.Status, refused.Message)
	}
	d1 := s.must(s.ask(&protocol.SemaphoreDescribe{NodeID: a.node, Name: []byte("slots"),
		Consistency: protocol.ConsistencyStrict})).SemaphoreDescribe
	resize := &protocol.SemaphoreResize{
		Mutation: a.mutation(), NodeID: a.node, Name: []byte("slots"), Limit: 5,
		ExpectedRevision: d1.Semaphore.Revision,
	}
	resized := s.must(s.ask(resize)).SemaphoreResize
	s.await(first, protocol.KindGranted)
	s.await(second, protocol.KindGranted)
	want(t, "the watch says", s.await(watch, protocol.KindChanged).Changed, protocol.Changed{Data: true, Owners: true})
	d2 := s.must(s.ask(&protocol.SemaphoreDescribe{NodeID: a.node, Name: []byte("slots"),
		Consistency: protocol.ConsistencyStrict})).SemaphoreDescribe
	want(t, "limit", d2.Semaphore.Limit, 5)
	want(t, "count", d2.Semaphore.Count, 5)
	want(t, "revision", d2.Semaphore.Revision, resized.Revision)
	want(t, "sent again", s.must(s.ask(resize)).SemaphoreResize, resized)
}

func TestALowerLimitTakesNothingAndAbortsWhoAsksForMore(t *testing.T) {
	s := speak(t, servertest.Start(t), 1)
	s.node("/jobs")
	a, b, d := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
	s.must(s.ask(&protocol.SemaphoreCreate{NodeID: a.node, Name: []byte("slots"), Limit: 3}))
	a.acquire("slots", 3, 0, false)
	first, _ := b.acquire("slots", 2, -1, false)
	second, _ := d.acquire("slots", 1, -1, false)
	s.must(s.ask(&protocol.SemaphoreResize{NodeID: a.node, Name: []byte("slots"), Limit: 1}))
	aborted := s.await(first, protocol.KindAborted).Aborted.Result
	want(t, "status", aborted.Status, protocol.StatusAborted)
	want(t, "reason", aborted.Reason, protocol.AbortResized)
	_, again := a.acquire("slots", 3, 0, false)
	want(t, "the owner asks for what it has", again.Outcome, protocol.Acquired)
	_, less := a.acquire("slots", 1, 0, false)
	want(t, "the owner asks for less", less.Outcome, protocol.Acquired)
	a.release("slots")
	s.await(second, protocol.KindGranted)
}

func TestAResizeThatCannotBeSaysWhy(t *testing.T) {
	s := speak(t, servertest.Start(t), 1)
	s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	a.acquire("lock", 1, 0, true)
	for _, c := range []struct {
		name   string
		limit  uint64
		status protocol.Status
		says   string
	}{
		{"none", 1, protocol.StatusNotFound, "no semaphore"},
		{"lock", 1, protocol.StatusPreconditionFailed, "ephemeral"},
		{"none", 0, protocol.StatusBadRequest, "limit of 0"},
	} {
		got := s.ask(&protocol.SemaphoreResize{NodeID: a.node, Name: []byte(c.name), Limit: c.limit}).Result
		if got.Status != c.status || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s, %d: %v: %s", c.name, c.limit, got.Status, got.Message)
		}
	}
}
