package server_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestAnAttachThatWasOvertakenChangesNothing(t *testing.T) {
	c := servertest.Start(t)
	first, second := speak(t, c, 1), speak(t, c, 1)
	first.node("/jobs")
	a := first.session("/jobs", time.Minute)
	attach := func(s *speaker, sequence uint64, timeout time.Duration) protocol.Status {
		return s.ask(&protocol.SessionAttach{
			SessionID: a.id, Key: []byte("key"), AttachSequence: sequence,
			Change: true, TimeoutMillis: uint64(timeout.Milliseconds()), Description: []byte("new"),
		}).Result.Status
	}
	want(t, "the later attach", attach(second, 5, 20*time.Second), protocol.StatusSuccess)
	want(t, "the earlier attach", attach(first, 4, time.Second), protocol.StatusBadSession)
	session := second.must(second.ask(&protocol.SessionDescribe{SessionID: a.id})).SessionDescribe.Session
	want(t, "timeout", session.TimeoutMillis, 20_000)
	want(t, "the same attach again", attach(second, 5, 20*time.Second), protocol.StatusSuccess)
}
