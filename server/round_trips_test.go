package server_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/memlog"
)

// distant is a three-host cluster with a round trip between hosts that is long compared with all other work.
type distant struct {
	*servertest.Cluster
	t *testing.T
}

const oneWay = 20 * time.Millisecond

// playDistant plays with a distant cluster. apart says whether different hosts lead the meta shard and the data shard.
func playDistant(t *testing.T, apart bool, play func(d distant)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Network(func(n *memlog.Config) {
			n.Path.Delay = memlog.Exactly(oneWay)
			n.ElectionTimeout, n.Heartbeat = time.Second, 50*time.Millisecond
		}), servertest.Config(func(config *server.Config) {
			config.LogSyncs = server.NewSyncTimes() // the test's disks take no time
		}))
		leader := c.Leader(1)
		if apart {
			leader = leader%3 + 1
		}
		if c.Leader(0) != leader {
			if err := c.Elect(0, leader); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		speak(t, c, c.Leader(0)).node("/jobs")
		play(distant{c, t})
	})
}

// takes fails the test unless an action takes the given number of round trips. The best try counts: a try may have to
// wait for an earlier barrier's end.
func (d distant) takes(what string, trips int, action func(try int)) {
	d.t.Helper()
	best := time.Hour
	for try := range 10 {
		time.Sleep(300*time.Millisecond + time.Duration(try)*7*time.Millisecond)
		began := time.Now()
		action(try)
		best = min(best, time.Since(began))
	}
	if limit := time.Duration(trips)*2*oneWay + oneWay/2; best > limit || best < limit-oneWay {
		d.t.Errorf("%s takes %.2f round trips, want %d", what, float64(best)/float64(2*oneWay), trips)
	}
}

// leader returns a client at the data shard's leader.
func (d distant) leader() *speaker { return speak(d.t, d.Cluster, d.Leader(1)) }

// TestRoundTrips counts the round trips between hosts for each request kind. The meta shard barrier at a session's
// start takes two if another host leads the meta shard.
func TestRoundTrips(t *testing.T) {
	for apart, start := range map[bool]int{false: 1, true: 2} {
		t.Run(fmt.Sprintf("meta shard led elsewhere %v", apart), func(t *testing.T) {
			playDistant(t, apart, func(d distant) {
				s := d.leader()
				var st *started
				s.session("/jobs", time.Minute) // has the timeout recorded in the meta shard
				d.takes("the start of a session", start, func(int) { st = s.session("/jobs", time.Minute) })
				d.takes("an acquire", 1, func(n int) { st.acquire(fmt.Sprint(n), protocol.Exclusive, 0, true) })
				d.takes("a release", 1, func(n int) { st.release(fmt.Sprint(n)) })
				read := func(c protocol.Consistency) func(int) {
					return func(int) {
						s.ask(&protocol.SemaphoreDescribe{NodeID: st.node, Name: []byte("held"), Consistency: c})
					}
				}
				st.acquire("held", protocol.Exclusive, 0, true)
				d.takes("a strict read", 1, read(protocol.ConsistencyStrict))
				d.takes("a relaxed read", 0, read(protocol.ConsistencyRelaxed))
				var stops []*started
				for range 10 {
					stops = append(stops, s.session("/jobs", time.Minute))
				}
				d.takes("the stop of a session", 1, func(n int) {
					s.must(s.ask(&protocol.SessionStop{SessionID: stops[n].id}))
				})
			})
		})
	}
}

// TestManyCallersTakeOneRoundTripEach: a command that comes while other commands are in flight gets a separate round at
// once, so callers that think between their commands wait one round trip, too.
func TestManyCallersTakeOneRoundTripEach(t *testing.T) {
	playDistant(t, false, func(d distant) {
		const callers, rounds = 64, 20
		var callersOf [callers]*started
		for n := range callersOf {
			callersOf[n] = d.leader().session("/jobs", time.Minute)
		}
		waited := make(chan time.Duration, callers)
		for n, st := range callersOf {
			go func() {
				sum := time.Duration(0)
				for k := range rounds {
					time.Sleep(time.Duration((n*37+k*53)%97) * 2 * oneWay / 97)
					began := time.Now()
					st.acquire(fmt.Sprint("lock", n), protocol.Exclusive, 0, true)
					st.release(fmt.Sprint("lock", n))
					sum += time.Since(began)
				}
				waited <- sum
			}()
		}
		sum := time.Duration(0)
		for range callers {
			sum += <-waited
		}
		trips := float64(sum) / float64(2*callers*rounds) / float64(2*oneWay)
		t.Logf("a command takes %.2f round trips", trips)
		if trips > 1.25 {
			t.Errorf("a command of %d callers takes %.2f round trips on average", callers, trips)
		}
	})
}

// TestNoSessionStartsInADroppedNode: the host does not know of the drop when the host creates the session. The host
// must not answer with the session, and ends the session.
func TestNoSessionStartsInADroppedNode(t *testing.T) {
	playDistant(t, true, func(d distant) {
		s, elsewhere := d.leader(), speak(d.t, d.Cluster, d.Leader(0))
		s.session("/jobs", time.Minute)
		time.Sleep(time.Second)
		elsewhere.must(elsewhere.ask(&protocol.NodeDrop{Path: []byte("/jobs")}))
		a := s.ask(&protocol.SessionStart{
			Path: []byte("/jobs"), TimeoutMillis: uint64(time.Minute.Milliseconds()), SessionSecret: []byte("key"),
		})
		want(d.t, "a start in a dropped node", a.Result.Status, protocol.StatusNotFound)
		time.Sleep(10 * time.Second)
		want(d.t, "sessions", metric(d.t, d.Cluster, `signalbox_shard_sessions{shard="1"}`), 0)
	})
}
