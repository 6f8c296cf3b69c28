package client_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// TestManySessionsThatCannotBeStoppedCostLittle: sessions closed while no host can end them are ended later. Any number
// of such sessions costs little: no goroutine and no separate tries for each.
func TestManySessionsThatCannotBeStoppedCostLittle(t *testing.T) {
	playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		const sessions = 400
		keeps := session(t, c, client.SessionTimeout(20*time.Second)) // the session's pings keep the others alive too
		var all []*client.Session
		for range sessions {
			all = append(all, session(t, c, client.SessionTimeout(20*time.Second)))
		}
		fake.on(func(_ *fakeHost, r *protocol.Request) fault {
			switch r.Kind {
			case protocol.KindSessionStop, protocol.KindSessionAttach:
				return fault{refuse: &protocol.Result{Status: protocol.StatusUnavailable}}
			}
			return fault{}
		})
		before := runtime.NumGoroutine()
		ended, end := context.WithCancel(t.Context())
		end()
		for _, s := range all {
			if err := s.Close(ended); err == nil {
				t.Fatal("a session was closed though no host has answered")
			}
		}
		synctest.Wait()
		asked := func() int { return fake.count(protocol.KindSessionStop) + fake.count(protocol.KindSessionAttach) }
		first := asked()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if more := runtime.NumGoroutine() - before; more > 10 {
			t.Errorf("%d sessions cost %d goroutines", sessions, more)
		}
		if tries := asked() - first; tries == 0 || tries > sessions/2 {
			t.Errorf("%d tries in 10 seconds to end %d sessions at hosts that cannot", tries, sessions)
		}
		fake.on(nil)
		left := func() (n int) {
			fake.do(func() { n = len(fake.sessions) })
			return n
		}
		eventually(t, 5*time.Second, "they end when hosts can end them", func() bool { return left() == 1 })
		if state := keeps.State(); state != client.Attached {
			t.Errorf("the session that is kept is %v", state)
		}
	})
}
