package server_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// apart is a cluster of three hosts whose replicas give no information on sessions of shards that they do not lead.
// Host 1 leads shard 1, host 2 leads shard 2.
type apart struct {
	*servertest.Cluster
	t    *testing.T
	node uint64
	// mover, if set, moves the homes of sessions from shard 2 to shard 1 before they are used.
	mover *mover
}

func startApart(t *testing.T, change ...func(*server.Config)) *apart {
	t.Helper()
	c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2), servertest.Config(func(c *server.Config) {
		c.Apart = true
		for _, f := range change {
			f(c)
		}
	}))
	a := &apart{Cluster: c, t: t, node: nodeAt(t, c, "/jobs")}
	a.elect(1, 1)
	a.elect(2, 2)
	return a
}

func (a *apart) elect(id uint64, to shard.HostID) {
	a.t.Helper()
	for end := time.Now().Add(time.Minute); a.Leader(id) != to; time.Sleep(time.Second) {
		if err := a.Elect(id, to); err != nil && time.Now().After(end) {
			a.t.Fatal(err)
		}
	}
	if err := a.WaitReady(time.Minute); err != nil {
		a.t.Fatal(err)
	}
	time.Sleep(time.Second)
}

// lock is a name in shard 2.
func (a *apart) lock(like string) string {
	second := meta.InitialRanges([]meta.ShardID{1, 2})[1]
	for i := byte('a'); ; i++ {
		name := like + string(i)
		if slot := shard.SlotOf(shard.NodeID(a.node), []byte(name)); slot >= second.First && slot <= second.Last {
			return name
		}
	}
}

// home returns a session with its home in shard 1.
func (a *apart) home() *started {
	a.t.Helper()
	if a.mover == nil {
		return speak(a.t, a.Cluster, 1).session("/jobs", 30*time.Second)
	}
	s := speak(a.t, a.Cluster, 2).session("/jobs", 30*time.Second)
	for shard.SessionID(s.id).Slot() == shard.SlotOf(shard.NodeID(a.node), []byte(a.lock("lock"))) { // that stays
		s = speak(a.t, a.Cluster, 2).session("/jobs", 30*time.Second)
	}
	if slot := shard.SessionID(s.id).Slot(); a.mover.owner(slot) == 2 {
		want(a.t, "the move of the home", a.mover.move(slot), protocol.SlotOpened)
	}
	want(a.t, "attached at the new home", attached(a.t, speak(a.t, a.Cluster, 1), s), true)
	return s
}

// homes runs a test in virtual time with sessions that began in shard 1, and with sessions whose homes moved there.
func homes(t *testing.T, play func(t *testing.T, a *apart)) {
	for what, moved := range map[string]bool{"home of its start": false, "home that moved": true} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := startApart(t)
				if moved {
					a.mover = newMover(t, a.Cluster)
				}
				play(t, a)
			})
		})
	}
}

// remote returns a session with its home in shard 1 that is bound at host 2.
func (a *apart) remote() (home, there *started) {
	a.t.Helper()
	home = a.home()
	s := speak(a.t, a.Cluster, 2)
	s.must(s.ask(&protocol.SessionBind{SessionID: home.id, SessionSecret: []byte("key")}))
	there = &started{s: s, id: home.id, node: home.node}
	return home, there
}

// contended is a lock in shard 2 with a remote session as owner, and a second remote session as waiter.
func (a *apart) contended() (home, there, waiter *started, waiting uint64) {
	a.t.Helper()
	home, there = a.remote()
	_, waiter = a.remote()
	name := a.lock("lock")
	there.acquire(name, protocol.Exclusive, 0, true)
	waiting, _ = waiter.acquire(name, protocol.Exclusive, -1, true)
	return home, there, waiter, waiting
}

// TestTheLockOfASessionThatEndsElsewhereIsFreeAtOnce: within 50 ms after the end at the session's home.
func TestTheLockOfASessionThatEndsElsewhereIsFreeAtOnce(t *testing.T) {
	homes(t, func(t *testing.T, a *apart) {
		home, there, waiter, waiting := a.contended()
		home.s.must(home.s.ask(&protocol.SessionStop{SessionID: home.id}))
		ended := time.Now()
		waiter.s.await(waiting, protocol.KindGranted)
		if took := time.Since(ended); took > 50*time.Millisecond {
			t.Errorf("the lock was free after %v", took)
		}
		over := there.s.await(0, protocol.KindSessionEnded).SessionEnded
		want(t, "over the other connection", over.SessionID, home.id)
	})
}

// TestASessionThatIsOverIsBoundNowhere: neither an ended session, nor one with a wrong key.
func TestASessionThatIsOverIsBoundNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApart(t)
		home, there := a.remote()
		other := speak(t, a.Cluster, 3)
		wrong := other.ask(&protocol.SessionBind{SessionID: home.id, SessionSecret: []byte("no")})
		want(t, "with another key", wrong.Result.Status, protocol.StatusBadSession)
		want(t, "not bound", other.ask(&protocol.Acquire{Mutation: home.mutation(), NodeID: a.node, Name: []byte("x"),
			Count: 1, Ephemeral: true}).Result.Status, protocol.StatusBadSession)
		home.s.must(home.s.ask(&protocol.SessionStop{SessionID: home.id}))
		want(t, "over",
			other.ask(&protocol.SessionBind{SessionID: home.id, SessionSecret: []byte("key")}).Result.Status,
			protocol.StatusSessionExpired)
		there.s.await(0, protocol.KindSessionEnded)
		late := there.s.ask(&protocol.Release{Mutation: home.mutation(), NodeID: a.node, Name: []byte(a.lock("lock"))})
		want(t, "a request of one that is over", late.Result.Status, protocol.StatusSessionExpired)
	})
}

// TestALossReachesTheHomeOfASession: an owner is notified over its attached connection that its semaphore was deleted
// by force at another host, even if the hosts are disconnected at first.
func TestALossReachesTheHomeOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApart(t)
		home, there := a.remote()
		name := a.lock("lock")
		other := speak(t, a.Cluster, 2)
		other.must(other.ask(&protocol.SemaphoreCreate{NodeID: a.node, Name: []byte(name), Limit: 1}))
		there.acquire(name, 1, 0, false)
		a.Net().Cut(2, 1)
		other.must(other.ask(&protocol.SemaphoreDelete{NodeID: a.node, Name: []byte(name), Force: true}))
		time.Sleep(3 * time.Second)
		a.Heal()
		lost := home.s.await(0, protocol.KindHoldingLost).HoldingLost
		want(t, "lost", string(lost.Name), name)
		want(t, "of", lost.SessionID, home.id)
	})
}

// without are a host's peer calls with some fields about sessions removed: a bug.
type without struct {
	executor.Calls
	leavesOut func(member string) bool
}

func (w without) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	var asked map[string]map[string]json.RawMessage
	if json.Unmarshal(request, &asked) == nil && asked["home"] != nil {
		maps.DeleteFunc(asked["home"], func(member string, _ json.RawMessage) bool { return w.leavesOut(member) })
		request, _ = json.Marshal(asked)
	}
	return w.Calls.Call(ctx, to, request)
}

// TestALossWhoseNoticeDiedWithItsLeaderIsFound: the leader of a remote session's shard dies between a deletion by force
// and the notice to the session's home. The next leader says within half a minute how many losses the remote session
// has had, and the home has the client look, once. The planted mistake leaves the count out.
func TestALossWhoseNoticeDiedWithItsLeaderIsFound(t *testing.T) {
	for what, c := range map[string]struct {
		next   shard.HostID // next leader of the remote session's shard
		change func(*server.Config)
		found  bool
	}{
		"elsewhere":   {3, func(*server.Config) {}, true},
		"at the home": {1, func(*server.Config) {}, true},
		"count is left out": {3, func(c *server.Config) {
			c.Calls = without{c.Calls, func(member string) bool { return member == "losses" }}
		}, false},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := startApart(t, c.change)
				home, there := a.remote()
				name := a.lock("lock")
				other := speak(t, a.Cluster, 2)
				other.must(other.ask(&protocol.SemaphoreCreate{NodeID: a.node, Name: []byte(name), Limit: 1}))
				there.acquire(name, 1, 0, false)
				a.elect(0, 3)
				a.Net().Cut(2, 1)
				other.must(other.ask(&protocol.SemaphoreDelete{NodeID: a.node, Name: []byte(name), Force: true}))
				time.Sleep(200 * time.Millisecond)
				a.Crash(2, false)
				a.Heal()
				a.elect(2, c.next)
				looks := func() (n int) {
					for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
						home.s.answered(home.s.say(&protocol.Ping{}), time.Second)
						for home.s.has(0, protocol.KindHoldingLost) {
							n++
						}
					}
					return n
				}
				if n := looks(); n != 1 && c.found || n != 0 && !c.found {
					t.Errorf("the client was notified %d times", n)
				}
				want(t, "later", looks(), 0)
			})
		})
	}
}

// TestWhoOwnsIsShownFromElsewhere: descriptions name the clients of remote sessions, and sessions count their holdings
// in other shards.
func TestWhoOwnsIsShownFromElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApart(t)
		home, there := a.remote()
		name := a.lock("lock")
		there.acquire(name, protocol.Exclusive, 0, true)
		d := there.s.must(there.s.ask(&protocol.SemaphoreDescribe{NodeID: a.node, Name: []byte(name),
			IncludeOwners: true, WatchData: true, SessionID: home.id})).SemaphoreDescribe
		for o := range d.Owners.All() {
			want(t, "the client", string(o.Client.Name), "speaker")
		}
		want(t, "owners", d.Owners.Len(), 1)
		want(t, "watched", d.WatchAdded, true)
		info := home.s.must(home.s.ask(&protocol.SessionDescribe{SessionID: home.id})).SessionDescribe.Session
		want(t, "owned", info.Owned, 1)
	})
}

// TestACheckNamesWhoHoldsALockFromElsewhere: the health issue about a lock that is waited for too long names owner and
// waiter as their homes do, from the first list on.
func TestACheckNamesWhoHoldsALockFromElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := startApart(t)
		meta := speak(t, a.Cluster, a.Leader(0))
		meta.must(meta.ask(&protocol.NodeAlter{Path: []byte("/jobs"),
			Config: protocol.NodeConfig{LongestWaitMillis: 10_000}}))
		a.contended()
		time.Sleep(11 * time.Second)
		var x *health.Issue
		for _, c := range healthIssuesAt(t, a.Cluster, 2) {
			if c.Kind == health.LongWait {
				x = &c
			}
		}
		if x == nil || !strings.HasPrefix(x.WaitsFor, "speaker at ") ||
			!strings.Contains(x.Text, "the longest wait is speaker at ") {
			t.Fatalf("%+v", x)
		}
	})
}

// TestAnEndThatNoHostReportedIsFound: the home's leader is killed before a session ends, and the next leader does not
// know the hosts that asked about sessions; or it is killed between the end and the notification. The hosts ask again,
// so the session's lock is free within half a minute.
func TestAnEndThatNoHostReportedIsFound(t *testing.T) {
	for name, between := range map[string]bool{"killed before the end": false, "killed before the notice": true} {
		t.Run(name, func(t *testing.T) {
			homes(t, func(t *testing.T, a *apart) {
				home, _, waiter, waiting := a.contended()
				a.elect(0, 3)
				end := func() {
					operator := speak(t, a.Cluster, a.Leader(1))
					operator.must(operator.ask(&protocol.SessionDestroy{SessionID: home.id}))
				}
				if between {
					a.Net().Cut(1, 2)
					end()
					time.Sleep(time.Second)
				}
				a.Crash(1, false)
				a.Heal()
				if err := a.WaitReady(time.Minute); err != nil {
					t.Fatal(err)
				}
				if waiter.s.has(waiting, protocol.KindGranted) {
					t.Error("there was a notice, or the question about the session was not needed")
				}
				if !between {
					end()
				}
				waiter.s.awaitFor(waiting, protocol.KindGranted, 31*time.Second)
			})
		})
	}
}

// TestAnEndWithoutANoticeIsFoundByASweep: no host is notified of a session's end, and the home's leader stays alive.
// The next sweep finds the end; without sweeps, the planted bug, the lock keeps its dead owner.
func TestAnEndWithoutANoticeIsFoundByASweep(t *testing.T) {
	for name, sweeps := range map[string]bool{"found": true, "no sweeps": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Bool
				a := startApart(t, func(c *server.Config) {
					c.Calls = without{c.Calls, func(member string) bool {
						return member == "ended" || member == "asked" && ended.Load() && !sweeps
					}}
				})
				home, _, waiter, waiting := a.contended()
				time.Sleep(time.Second) // the initial questions are answered
				ended.Store(true)
				home.s.must(home.s.ask(&protocol.SessionStop{SessionID: home.id}))
				granted := func(within time.Duration) bool {
					for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(time.Second) {
						waiter.s.answered(waiter.s.say(&protocol.Ping{}), time.Second)
						if waiter.s.has(waiting, protocol.KindGranted) {
							return true
						}
					}
					return false
				}
				if granted(time.Second) {
					t.Error("there was a notice")
				}
				if granted(sweepEvery+5*time.Second) != sweeps {
					t.Errorf("the lock is free: %v", !sweeps)
				}
			})
		})
	}
}

// TestAHostThatCannotReachTheHomesLeaderAsksAnother: a session is bound based on another replica of its home.
func TestAHostThatCannotReachTheHomesLeaderAsksAnother(t *testing.T) {
	homes(t, func(t *testing.T, a *apart) {
		home := a.home()
		a.Net().Cut(1, 2)
		s := speak(t, a.Cluster, 2)
		s.must(s.ask(&protocol.SessionBind{SessionID: home.id, SessionSecret: []byte("key")}))
	})
}

// sweepEvery is the interval at which a leader asks about all its remote sessions.
const sweepEvery = 30 * time.Second

// TestAnEndIsFoundWhereTheHomesLeaderCannotBeAsked: a dead session's lock is freed although the lock's host and the
// home's leader are disconnected, with or without a local replica of the home.
func TestAnEndIsFoundWhereTheHomesLeaderCannotBeAsked(t *testing.T) {
	for name, apart := range map[string]bool{"no copy": true, "a copy that hears nothing": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := startApart(t, func(c *server.Config) { c.Apart = apart })
				home, there := a.remote()
				name := a.lock("lock")
				there.acquire(name, protocol.Exclusive, 0, true)
				a.Net().Cut(1, 2)
				a.Net().Cut(2, 1)
				home.s.must(home.s.ask(&protocol.SessionStop{SessionID: home.id}))
				for end := time.Now().Add(2 * sweepEvery); ; time.Sleep(time.Second) {
					d := speak(t, a.Cluster, 2).ask(&protocol.SemaphoreDescribe{NodeID: a.node, Name: []byte(name)})
					if d.Result.Status == protocol.StatusNotFound {
						break
					}
					if time.Now().After(end) {
						t.Fatalf("the lock has its owner still: %v", d.Result.Status)
					}
				}
				if l := a.Leader(1); l != 1 {
					t.Errorf("host %d leads the home meanwhile", l)
				}
			})
		})
	}
}

// TestTheSessionsOfAConnectionShareSlots: 500 sessions per slot of a shard; each connection starts at a different slot.
func TestTheSessionsOfAConnectionShareSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		nodeAt(t, c, "/jobs")
		begun := make(map[shard.Slot]int)
		start := func(s *speaker) {
			begun[shard.SessionID(s.session("/jobs", 10*time.Minute).id).Slot()]++
		}
		first, second := speak(t, c, 1), speak(t, c, 1)
		for range 600 {
			start(first)
		}
		for range 3 {
			start(second)
		}
		if counts := slices.Sorted(maps.Values(begun)); !slices.Equal(counts, []int{3, 100, 500}) {
			t.Errorf("sessions by slot: %v", counts)
		}
	})
}
