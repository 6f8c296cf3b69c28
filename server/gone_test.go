package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// A session that is made when its client has gone would only be in the way until its timeout.
func TestASessionWhoseClientIsGoneWhenItStartsEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		s.node("/jobs")
		c.Pause(1) // nothing is committed
		s.say(&protocol.SessionStart{
			Path: []byte("/jobs"), TimeoutMillis: uint64((30 * time.Minute).Milliseconds()), Key: []byte("key"),
		})
		synctest.Wait()
		if err := s.conn.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.Resume(1)
		time.Sleep(5 * time.Second)
		want(t, "sessions that ended", metric(t, c, `signalbox_sessions_ended_total{reason="`+protocol.EndStopped.String()+`"}`), 1)
		want(t, "sessions", metric(t, c, `signalbox_shard_sessions{shard="1"}`), 0)
	})
}
