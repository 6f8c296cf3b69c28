package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

func TestAHostThatDoesNotLeadSendsChangesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		node := nodeAt(t, c, "/jobs")
		leader := c.Leader(1)
		a := speak(t, c, leader).session("/jobs", 10*time.Second)
		s := speak(t, c, leader%3+1)
		s.must(s.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
		for _, m := range []protocol.RequestMessage{
			&protocol.SemaphoreCreate{NodeID: node, Name: []byte("sem"), Limit: 1},
			&protocol.Acquire{Mutation: a.mutation(), NodeID: node, Name: []byte("lock"), Count: 1, Ephemeral: true},
			&protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: 1000, SessionSecret: []byte("key")},
			&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key"), AttachSequence: 1},
			&protocol.SessionDestroy{SessionID: a.id},
		} {
			result := s.ask(m).Result
			want(t, m.Kind().String(), result.Status, protocol.StatusMoved)
			want(t, "leader", result.Moved.LeaderAddress, servertest.Address(leader))
		}
	})
}

// noOperator may do everything but operate.
type noOperator struct{}

func (noOperator) Authenticate([]byte) (caller.Rights, string, bool) {
	return noOperator{}, "app", true
}
func (noOperator) Allows(_, _ string, need protocol.Right) bool {
	return need&protocol.RightOperate == 0
}
func (noOperator) Valid() bool     { return true }
func (noOperator) Version() uint64 { return 0 }

// TestADestroyIsMovedToTheHomeBeforeItIsJudged: only the home's leader checks permissions, both for known and for
// unknown sessions.
func TestADestroyIsMovedToTheHomeBeforeItIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Config(func(c *server.Config) {
			c.Access = noOperator{}
		}))
		nodeAt(t, c, "/jobs")
		leader := c.Leader(1)
		home := speak(t, c, leader)
		a := home.session("/jobs", time.Minute)
		elsewhere := speak(t, c, leader%3+1)
		for _, id := range []uint64{a.id, a.id + 1000} {
			result := elsewhere.ask(&protocol.SessionDestroy{SessionID: id}).Result
			want(t, "without the home", result.Status, protocol.StatusMoved)
			want(t, "at the home", home.ask(&protocol.SessionDestroy{SessionID: id}).Result.Status,
				protocol.StatusUnauthorized)
		}
	})
}

func TestAHostThatIsCutOffAnswersNoReadForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		node := nodeAt(t, c, "/jobs")
		leader := speak(t, c, c.Leader(1))
		leader.must(leader.ask(&protocol.SemaphoreCreate{NodeID: node, Name: []byte("sem"), Limit: 1}))
		follower := shard.HostID(1)
		for follower == c.Leader(0) || follower == c.Leader(1) {
			follower++
		}
		s := speak(t, c, follower)
		read := func() bool {
			return s.answered(s.say(&protocol.SemaphoreDescribe{
				NodeID: node, Name: []byte("sem"), Consistency: protocol.ConsistencyRelaxed,
			}), 30*time.Second)
		}
		s.must(s.ask(&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("sem"),
			Consistency: protocol.ConsistencyStrict}))
		want(t, "a read", read(), true)
		c.Isolate(follower)
		want(t, "a read right after the cut", read(), true)
		time.Sleep(10 * time.Second) // the grace period
		want(t, "a read a grace period later", read(), false)
		c.Heal()
		time.Sleep(5 * time.Second)
		want(t, "a read after the cut", read(), true)
	})
}

func TestAChangedTimeoutIsWhatASessionEndsBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		first, other := speak(t, c, 1), speak(t, c, 1)
		first.node("/jobs")
		longer, shorter := first.session("/jobs", 2*time.Second), first.session("/jobs", 20*time.Second)
		for id, timeout := range map[uint64]uint64{longer.id: 20_000, shorter.id: 2000} {
			first.must(first.ask(&protocol.SessionAttach{
				SessionID: id, SessionSecret: []byte("key"), AttachSequence: 1, Change: true, TimeoutMillis: timeout,
			}))
		}
		time.Sleep(8 * time.Second)
		lives := func(id uint64) protocol.Status {
			return other.ask(&protocol.SessionDescribe{SessionID: id}).Result.Status
		}
		want(t, "raised", lives(longer.id), protocol.StatusSuccess)
		want(t, "lowered", lives(shorter.id), protocol.StatusSessionExpired)
	})
}
