package server_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	budget "github.com/signalbox/signalbox/server/watch"
)

// TestTheWatchesOfAHostShareABudget opens watches of both kinds, over several connections and in several shards, until
// one is refused, and ends the watches in every way.
func TestTheWatchesOfAHostShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const fit = 10 // watches on four-byte names
		c := servertest.Start(t, servertest.Shards(3),
			servertest.Config(func(c *server.Config) { c.WatchBytes = fit * (budget.WatchBytes + 4) }))
		first, second := speak(t, c, 1), speak(t, c, 1)
		node := first.node("/jobs")
		x := second.session("/jobs", 10*time.Second)
		watch := func(s *speaker, i int) *protocol.Answer {
			return s.ask(&protocol.Watch{NodeID: node, Name: name("w%03d", i), Data: true})
		}
		for _, i := range []int{0, 1, 2, 100} {
			first.must(first.ask(&protocol.SemaphoreCreate{NodeID: node, Name: name("o%03d", i), Limit: 1}))
		}
		oneShot := func(i int) *protocol.Answer {
			return x.s.ask(&protocol.SemaphoreDescribe{
				NodeID: node, Name: name("o%03d", i), SessionID: x.id, WatchData: true,
			})
		}
		refused := func(a *protocol.Answer) {
			t.Helper()
			want(t, "status", a.Result.Status, protocol.StatusOverloaded)
			if message := string(a.Result.Message); !strings.Contains(message, "max-watch-memory") {
				t.Errorf("the refusal does not name the limit: %q", message)
			}
		}
		used := func(watches int) {
			t.Helper()
			synctest.Wait()
			want(t, "memory of watches", metric(t, c, "signalbox_watch_memory_bytes"), watches*(budget.WatchBytes+4))
		}
		ids := map[int]uint64{}
		for i := range 4 {
			first.must(watch(first, i))
			ids[i] = first.next
		}
		for i := range 3 {
			second.must(watch(second, 10+i))
			first.must(oneShot(i))
		}
		used(fit)
		refused(watch(first, 100))
		refused(watch(second, 100))
		refused(oneShot(100))
		used(fit)
		want(t, "the limit", metric(t, c, "signalbox_watch_memory_limit_bytes"), fit*(budget.WatchBytes+4))

		first.must(first.ask(&protocol.WatchStop{WatchID: ids[0]}))
		used(fit - 1)
		first.must(first.ask(&protocol.SemaphoreUpdate{NodeID: node, Name: name("o%03d", 0), Data: []byte("changed")}))
		used(fit - 2) // a one-shot watch ends with its change
		first.must(oneShot(1))
		used(fit - 2) // replaces the previous watch
		_ = first.conn.Close()
		used(fit - 5)
		second.must(second.ask(&protocol.SessionStop{SessionID: x.id}))
		used(fit - 7)
		second.must(second.ask(&protocol.NodeDrop{Path: []byte("/jobs")}))
		time.Sleep(time.Second) // until the shards are notified
		used(0)
	})
}
