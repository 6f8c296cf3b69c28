package server_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestManySessionsThatExpireTogetherEndInSteps: the sessions that expire together, and what they have in another shard,
// are too much for one command. All of them end, and all that they have is released.
func TestManySessionsThatExpireTogetherEndInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Shards(2))
		s := speak(t, c, 1)
		s.node("/jobs")
		const sessions, each = 500, 10
		for i := range sessions {
			x := s.session("/jobs", 20*time.Minute)
			var last uint64
			for j := range each {
				last = s.say(&protocol.Acquire{
					Mutation: x.mutation(), NodeID: x.node, Name: fmt.Appendf(nil, "%d/%d", i,
						j), Count: 1, Ephemeral: true,
				})
			}
			s.must(s.await(last, protocol.KindAcquire.Answer()))
			s.kept = nil
		}
		time.Sleep(time.Second)
		want(t, "semaphores", metric(t, c, `signalbox_shard_semaphores{shard="1"}`)+metric(t, c,
			`signalbox_shard_semaphores{shard="2"}`), sessions*each)
		if err := s.conn.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20*time.Minute + 3*time.Second)
		for _, of := range []string{"sessions", "remote_sessions", "semaphores"} {
			for _, shard := range []string{"1", "2"} {
				want(t, of, metric(t, c, `signalbox_shard_`+of+`{shard="`+shard+`"}`), 0)
			}
		}
	})
}
