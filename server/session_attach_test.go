package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// TestAnAttachWaitsForALeaderThatHasJustBeenElected: the answer comes once the leader serves. A refused client pauses,
// and with a million sessions pauses were most of the time without locks.
func TestAnAttachWaitsForALeaderThatHasJustBeenElected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		before := c.Leader(1)
		operator := speak(t, c, before)
		operator.must(operator.ask(&protocol.NodeCreate{Path: []byte("/jobs")}))
		session := operator.session("/jobs", time.Minute)
		next := before%3 + 1
		client := speak(t, c, next)
		awaitThat(t, "the next leader has the session", func() bool {
			return c.Host(next).Status().Shards[0].Sessions == 1
		})
		for id := range shard.HostID(3) { // the leader serves after a first command, which takes so long
			c.Net().SetDisk(id+1, memlog.Exactly(300*time.Millisecond))
		}
		if err := c.Elect(1, next); err != nil {
			t.Fatal(err)
		}
		elected := time.Now() // the host learns of the leadership in two steps, a moment apart
		for sequence := uint64(2); ; sequence++ {
			a := client.ask(&protocol.SessionAttach{
				SessionID: session.id, Key: []byte("key"), AttachSequence: sequence,
			})
			switch a.Result.Status {
			case protocol.StatusMoved:
			case protocol.StatusUnavailable:
				if time.Since(elected) > 10*time.Millisecond {
					t.Fatalf("it is refused %v after the election: %v", time.Since(elected), a.Result.Err())
				}
			default:
				client.must(a)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
}
