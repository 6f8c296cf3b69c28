package server_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/test/memlog"
)

// beat is the maximum lag of the shard time behind its leader's estimate when the leader is lost.
const beat = 10 * time.Second

// clocked is a cluster with an alarm in its data shard's time, and with separate host clocks.
type clocked struct {
	*servertest.Cluster
	t     *testing.T
	alarm atomic.Uint64 // alarm time, for the leader; the end of time while unknown
	names int

	ahead atomic.Uint64 // by how many milliseconds leaders' stamps are wrong
}

// leapingLog is a log whose leaders may write wrong stamps.
type leapingLog struct {
	shard.Log
	ahead *atomic.Uint64
}

func (l *leapingLog) Propose(data []byte, done func(shard.Outcome)) error {
	var b shard.Batch
	if l.ahead.Load() == 0 || shard.DecodeBatch(data, &b, level.Newest) != nil || b.Stamp.Term == 0 {
		return l.Log.Propose(data, done)
	}
	b.Stamp.Elapsed += l.ahead.Load()
	return l.Log.Propose(shard.AppendBatch(nil, &b), done)
}

// playTime runs a test with a cluster in virtual time. rate is the speed of the host clocks.
func playTime(t *testing.T, hosts int, rate float64, change func(*memlog.Config), play func(t *testing.T, c *clocked)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &clocked{t: t}
		c.alarm.Store(1 << 60)
		c.Cluster = servertest.Start(t, servertest.Hosts(hosts), servertest.Network(change),
			servertest.Config(func(config *server.Config) {
				began := time.Now()
				config.Clock = func() time.Time {
					return began.Add(time.Duration(float64(time.Since(began)) * rate))
				}
				open := config.Logs
				config.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
					l, err := open(id, sm)
					return &leapingLog{l, &c.ahead}, err
				}
				config.NextAlarm = func(_ uint64, m *machine.Machine) (uint64, bool) {
					at, ok := m.NextAlarm()
					if other := c.alarm.Load(); !ok || other < at {
						at = other
					}
					return at, true
				}
			}))
		play(t, c)
	})
}

// time returns the shard time at the leader's replica.
func (c *clocked) time() clock.Clock {
	if h := c.Host(c.leader()); h != nil {
		return h.ShardClock(1)
	}
	return clock.Clock{}
}

// leader returns the data shard's leader, 0 if there is none.
func (c *clocked) leader() shard.HostID { return c.Leader(1) }

// begin starts a delay with a command, and returns its end in shard time.
func (c *clocked) begin(d time.Duration) (at uint64) {
	c.t.Helper()
	node := speak(c.t, c.Cluster, c.Leader(0)).node("/jobs")
	s := speak(c.t, c.Cluster, c.leader())
	c.names++
	s.must(s.ask(&protocol.SemaphoreCreate{NodeID: node, Name: name("touch/%d", c.names), Limit: 1}))
	now := c.time()
	at = now.After(uint64(d / time.Millisecond))
	c.alarm.Store(at)
	return at
}

// over waits for a shard time at a leader's replica, and returns the elapsed time.
func (c *clocked) over(at uint64) time.Duration {
	c.t.Helper()
	began := time.Now()
	for c.time().Now < at {
		if time.Since(began) > time.Hour {
			c.t.Fatalf("the delay never ends: it is %+v, and it is over at %d", c.time(), at)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(began)
}

// within checks that a delay took at least the requested time, and at most `late` longer.
func (c *clocked) within(took, asked, late time.Duration) {
	c.t.Helper()
	const tick = 200 * time.Millisecond // for the leader's loop, its queue and a log round
	if took < asked || took > asked+late+tick {
		c.t.Fatalf("a delay of %v took %v; it may be %v late", asked, took, late)
	}
}

func unchanged(*memlog.Config) {}

// TestADelayIsAsFarOffAsTheClockOfItsLeader: and no further.
func TestADelayIsAsFarOffAsTheClockOfItsLeader(t *testing.T) {
	for _, rate := range []float64{1, 1.05, 0.95} {
		playTime(t, 3, rate, unchanged, func(t *testing.T, c *clocked) {
			const asked = time.Minute
			took := c.over(c.begin(asked))
			c.within(took, time.Duration(float64(asked)/rate), 0)
		})
	}
}

// TestADelayGoesOnWhenItsLeaderStandsStill: the stall exceeds the delay. Another host leads meanwhile, and later
// proposals of the stalled host have no effect.
func TestADelayGoesOnWhenItsLeaderStandsStill(t *testing.T) {
	playTime(t, 3, 1, unchanged, func(t *testing.T, c *clocked) {
		const asked = 30 * time.Second
		began, leader := time.Now(), c.leader()
		at := c.begin(asked)
		time.Sleep(5 * time.Second)
		c.Pause(leader)
		stopped := time.Now()
		for c.leader() == leader || c.time().Term == 0 || c.time().Base == 0 {
			time.Sleep(time.Millisecond)
		}
		without := time.Since(stopped)
		c.over(at)
		c.within(time.Since(began), asked, without+beat)
		before := c.time()
		c.Resume(leader)
		time.Sleep(time.Minute)
		if now := c.Host(leader).ShardClock(1); now.Now < before.Now || now.Now > before.Now+uint64(61_000) {
			t.Fatalf("the time goes from %+v to %+v in a minute", before, now)
		}
	})
}

// TestADelayOutlivesTheStandstillOfAnOnlyHost: its monotonic clock continues meanwhile.
func TestADelayOutlivesTheStandstillOfAnOnlyHost(t *testing.T) {
	playTime(t, 1, 1, unchanged, func(t *testing.T, c *clocked) {
		const asked, still = 10 * time.Second, 40 * time.Second
		began := time.Now()
		at := c.begin(asked)
		c.Pause(1)
		time.Sleep(still)
		if c.time().Now >= at {
			t.Fatal("the delay is over though nothing was committed")
		}
		c.Resume(1)
		c.over(at)
		c.within(time.Since(began), still, 3*time.Second)
	})
}

// TestLeadersInTurnMoveTheTime: no leader leads for a full beat. Each loses at most half of its term's time, so a delay
// takes at most twice as long, plus the elections.
func TestLeadersInTurnMoveTheTime(t *testing.T) {
	playTime(t, 3, 1, unchanged, func(t *testing.T, c *clocked) {
		const asked, each = time.Minute, 4 * time.Second
		began, changes := time.Now(), 0
		at := c.begin(asked)
		for ; c.time().Now < at; changes++ {
			if time.Since(began) > 3*asked {
				t.Fatalf("after %v and %d leaders it is %+v", time.Since(began), changes, c.time())
			}
			_ = c.Elect(1, c.leader()%3+1)
			time.Sleep(each)
		}
		if took := time.Since(began); took < asked || changes < 15 {
			t.Fatalf("a delay of %v took %v, with %d changes of leader", asked, took, changes)
		}
		t.Logf("a delay of %v took %v, with %d changes of leader", asked, time.Since(began), changes)
	})
}

// TestALeaderThatDoesNotKnowThatItIsOverMovesNoTime: a partitioned leader believes to lead, and keeps proposing.
func TestALeaderThatDoesNotKnowThatItIsOverMovesNoTime(t *testing.T) {
	playTime(t, 3, 1, func(n *memlog.Config) { n.CheckQuorum = false }, func(t *testing.T, c *clocked) {
		const asked = 30 * time.Second
		began, old := time.Now(), c.leader()
		at := c.begin(asked)
		c.Isolate(old)
		cut := time.Now()
		for c.leader() == old || c.Host(c.leader()).ShardClock(1).Term <= c.Host(old).ShardClock(1).Term {
			time.Sleep(time.Millisecond)
		}
		without, stood := time.Since(cut), c.Host(old).ShardClock(1)
		c.over(at)
		c.within(time.Since(began), asked, without+beat)
		if now := c.Host(old).ShardClock(1); now != stood {
			t.Fatalf("the time of a host that is cut off goes from %+v to %+v", stood, now)
		}
		c.Heal()
		for now := stood; now.Term != c.time().Term || now.Now < at; now = c.Host(old).ShardClock(1) {
			if now.Now < stood.Now {
				t.Fatalf("the time went back from %+v to %+v", stood, now)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// TestTimeStandsStillWhileAllHostsAreDown: it continues, from the log or a snapshot, when they return.
func TestTimeStandsStillWhileAllHostsAreDown(t *testing.T) {
	for what, every := range map[string]uint64{"from the log": 0, "from a snapshot": 2} {
		t.Run(what, func(t *testing.T) {
			playTime(t, 3, 1, func(n *memlog.Config) { n.SnapshotEvery = every }, func(t *testing.T, c *clocked) {
				const asked, down = 40 * time.Second, time.Hour
				began := time.Now()
				at := c.begin(asked)
				time.Sleep(20 * time.Second)
				before := c.time()
				for id := range shard.HostID(3) {
					c.Crash(id+1, true)
				}
				time.Sleep(down)
				for id := range shard.HostID(3) {
					if err := c.Restart(id + 1); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.WaitReady(time.Minute); err != nil {
					t.Fatal(err)
				}
				if now := c.time(); now.Now < before.Now || now.Now > before.Now+2000 || now.Term <= before.Term {
					t.Fatalf("the time goes from %+v to %+v while all hosts are down", before, now)
				}
				c.over(at)
				c.within(time.Since(began), asked+down, beat+2*time.Second)
			})
		})
	}
}

// TestNoLeaseOrSessionRestsOnShardTime: a leader's wrong stamps make its shard time jump by a day. That ends a waiter's
// wait, but no session: sessions end by the leader's clock.
func TestNoLeaseOrSessionRestsOnShardTime(t *testing.T) {
	playTime(t, 1, 1, unchanged, func(t *testing.T, c *clocked) {
		s := speak(t, c.Cluster, 1)
		s.node("/jobs")
		waits, _ := s.wait(10*time.Second, 30*time.Second)
		before := c.time()
		c.ahead.Store(uint64(24 * time.Hour / time.Millisecond))
		for range 29 {
			s.must(s.ask(&protocol.Ping{}))
			time.Sleep(time.Second)
		}
		if now := c.time(); now.Now < before.Now+uint64(24*time.Hour/time.Millisecond) {
			t.Fatalf("the time of the shard goes from %+v to %+v: it has not leapt", before, now)
		}
		s.await(waits, protocol.KindTimedOut)
		want(t, "sessions", metric(t, c.Cluster, `signalbox_shard_sessions{shard="1"}`), 2)
		if err := s.conn.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		want(t, "sessions before their time", metric(t, c.Cluster, `signalbox_shard_sessions{shard="1"}`), 2)
		time.Sleep(5 * time.Second)
		want(t, "sessions after it", metric(t, c.Cluster, `signalbox_shard_sessions{shard="1"}`), 0)
	})
}

// wait makes a session wait for another session's lock, and returns the request and the start of the wait.
func (s *speaker) wait(timeout, d time.Duration) (request uint64, began time.Time) {
	s.t.Helper()
	owner, other := s.session("/jobs", timeout), s.session("/jobs", timeout)
	owner.acquire("lock", protocol.Exclusive, 0, true)
	began = time.Now()
	request, answer := other.acquire("lock", protocol.Exclusive, d, true)
	want(s.t, "the acquire", answer.Outcome, protocol.Queued)
	return request, began
}

// TestAWaitGoesOnUnderTheNextLeader: whenever its leader crashes, a wait of one second never ends early, and at most a
// second and a half late. The same holds for a long wait in its last second.
func TestAWaitGoesOnUnderTheNextLeader(t *testing.T) {
	elections := func(n *memlog.Config) { n.ElectionTimeout, n.Heartbeat = 300*time.Millisecond, 20*time.Millisecond }
	for _, wait := range []time.Duration{time.Second, time.Minute} {
		for _, left := range []time.Duration{990, 700, 510, 490, 260, 240, 100, 10} {
			playTime(t, 3, 1, elections, func(t *testing.T, c *clocked) {
				speak(t, c.Cluster, c.Leader(0)).node("/jobs")
				leader := c.leader()
				_, began := speak(t, c.Cluster, leader).wait(10*time.Minute, wait)
				time.Sleep(time.Until(began.Add(wait - left*time.Millisecond)))
				c.Crash(leader, true)
				for c.leader() == 0 || c.leader() == leader ||
					!strings.Contains(metricsOf(c.Cluster, c.leader()), "signalbox_shard_waiters{shard=\"1\"} 0\n") {
					time.Sleep(time.Millisecond)
				}
				c.within(time.Since(began), wait, 1300*time.Millisecond)
			})
		}
	}
}

// TestWhatFiniteWaitsCost: waits of an hour cost one command every 9 s if nothing else advances the time, regardless of
// their number. Ending waits cost at most one command per tick, and end in time.
func TestWhatFiniteWaitsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		s.node("/jobs")
		owner, other := s.session("/jobs", 25*time.Minute), s.session("/jobs", 25*time.Minute)
		names := 0
		wait := func(d time.Duration) {
			names++
			lock := fmt.Sprint("lock/", names)
			owner.acquire(lock, protocol.Exclusive, 0, true)
			if _, a := other.acquire(lock, protocol.Exclusive, d, true); a.Outcome != protocol.Queued {
				t.Fatalf("%+v", a)
			}
		}
		passes := func(d time.Duration) (entries int) {
			before := metric(t, c, `signalbox_shard_applied_index{shard="1"}`)
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				s.must(s.ask(&protocol.Ping{}))
			}
			return metric(t, c, `signalbox_shard_applied_index{shard="1"}`) - before
		}
		wait(time.Hour)
		n := passes(10 * time.Minute)
		t.Logf("a wait of an hour takes %d commands in ten minutes", n)
		if n < 60 || n > 75 {
			t.Errorf("a wait of an hour takes %d commands in ten minutes", n)
		}
		const waits, spread = 2000, 10 * time.Second
		for i := range waits {
			wait(time.Minute + time.Duration(i)*spread/waits)
		}
		before := metric(t, c, `signalbox_shard_waiters{shard="1"}`)
		want(t, "waiters", before, 1+waits)
		if n := passes(50 * time.Second); n > 10 {
			t.Errorf("%d waits that do not end yet take %d commands", waits, n)
		}
		n = passes(spread + 11*time.Second)
		t.Logf("%d waits that end in %v take %d commands", waits, spread, n)
		if n < 100 || n > 220 {
			t.Errorf("%d waits that end in %v take %d commands", waits, spread, n)
		}
		want(t, "waiters left", metric(t, c, `signalbox_shard_waiters{shard="1"}`), 1)
	})
}
