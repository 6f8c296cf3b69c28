package machine_test

import (
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// watch adds a one-shot watch, and returns the session with the replaced watch, which gets the notification (false,
// false).
func (sc *scene) watch(session, name string, data, owners bool) (replaced string) {
	sc.Helper()
	sc.watchers = append(sc.watchers, session)
	old, was := sc.watches.Add(sc.id(session), homeNode, name, data, owners, uint64(len(sc.watchers)-1))
	if was {
		return sc.watchers[old]
	}
	return ""
}

func TestDataWatchFiresOnceAndForDataOnly(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.watch("s1", "sem", true, false)
		m.acquire("s2", "sem").wantFired()
		m.update("sem", "a").wantFired("s1 data")
		m.update("sem", "b").wantFired()
	})
}

func TestOwnersWatchFiresForOwnersOnly(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.watch("s1", "sem", false, true)
		m.update("sem", "a").wantFired()
		m.acquire("s2", "sem").wantFired("s1 owners")
		m.release("s2", "sem").wantFired()
	})
}

// TestWatchForBothFiresForWhicheverComesFirst: a single event removes both watches.
func TestWatchForBothFiresForWhicheverComesFirst(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.watch("s1", "sem", true, true)
		m.acquire("s2", "sem").wantFired("s1 owners")
		m.update("sem", "a").wantFired()
		m.watch("s1", "sem", true, true)
		m.update("sem", "b").wantFired("s1 data")
		m.release("s2", "sem").wantFired()
	})
}

func TestWatchOfTheOneWhoActsFiresToo(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1)
		m.watch("s1", "sem", false, true)
		m.acquire("s1", "sem").wantFired("s1 owners")
	})
}

func TestOwnersWatchFiresForOtherDataOfAnOwnerAndNotForTheSame(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s2", "sem", data("a"))
		m.watch("s1", "sem", false, true)
		m.acquire("s2", "sem", data("a")).wantFired()
		m.acquire("s2", "sem", data("b")).wantFired("s1 owners")
	})
}

func TestOwnersWatchFiresForALowerCount(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 2)
		m.acquire("s2", "sem", count(2))
		m.watch("s1", "sem", false, true)
		m.acquire("s2", "sem").wantFired("s1 owners")
	})
}

// TestEndOfAnOwnerFiresOnceForOthersAndNotForItself: a queue run causes a single notification, and none for the ended
// session.
func TestEndOfAnOwnerFiresOnceForOthersAndNotForItself(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3", "s4")
		m.create("sem", 3)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", count(2))
		m.acquire("s3", "sem")
		m.acquire("s4", "sem")
		m.watch("s4", "sem", false, true)
		m.watch("s2", "sem", false, true)
		end := m.endSession("s2", byOperator)
		end.want(
			"ended s2 DESTROYED",
			"granted s3 sem order=3", "granted s4 sem order=4", "changed sem owners",
			"SUCCESS",
		)
		end.wantFired("s4 owners")
		if got := m.watches.Len(); got != 0 {
			t.Errorf("%d watches are left", got)
		}
	})
}

func TestDeleteFiresEveryWatchWithBoth(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 1)
		m.watch("s1", "sem", true, false)
		m.watch("s2", "sem", false, true)
		m.delete("sem").wantFired("s1 data owners", "s2 data owners")
		m.create("sem", 1)
		m.acquire("s3", "sem")
		m.watch("s1", "sem", false, true)
		m.delete("sem", force).wantFired("s1 data owners")
	})
}

func TestEndOfAnEphemeralSemaphoreFiresEveryWatchWithBoth(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.acquire("s1", "L", ephemeral)
		m.watch("s2", "L", true, false)
		m.watch("s3", "L", false, true)
		m.release("s1", "L").wantFired("s2 data owners", "s3 data owners")
	})
}

func TestReplacedWatchIsHandedBackAndIsOver(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.create("other", 1)
		if got := m.watch("s1", "sem", false, true); got != "" {
			t.Errorf("the first watch replaced %q", got)
		}
		if got := m.watch("s1", "other", true, true); got != "" {
			t.Errorf("a watch of another semaphore replaced %q", got)
		}
		if got := m.watch("s2", "sem", true, true); got != "" {
			t.Errorf("a watch of another session replaced %q", got)
		}
		if got := m.watch("s1", "sem", true, false); got != "s1" {
			t.Errorf("the second watch replaced %q", got)
		}
		m.acquire("s1", "sem").wantFired("s2 owners")
		m.update("sem", "x").wantFired("s1 data")
	})
}

func TestOwnersWatchIsSilentAboutWaiters(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 2)
		m.acquire("s1", "sem", count(2))
		m.watch("s3", "sem", true, true)
		m.acquire("s2", "sem", count(2)).wantFired()
		m.acquire("s2", "sem", data("new")).wantFired()
		m.release("s2", "sem").wantFired()
		m.acquire("s2", "sem").wantFired()
		m.acquire("s2", "sem", try).wantFired()
		m.acquire("s2", "sem").wantFired()
		m.endSession("s2").wantFired()
		m.update("sem", "").wantFired() // equal bytes
		m.release("s1", "sem").wantFired("s3 owners")
	})
}

// TestDroppedSessionsWatchesAreSilent: after reattaching, a session gets no notifications for earlier watches.
func TestDroppedSessionsWatchesAreSilent(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.create("other", 1)
		m.watch("s1", "sem", true, true)
		m.watch("s1", "other", true, true)
		m.watch("s2", "sem", true, true)
		m.watches.DropSession(m.id("s1"))
		m.update("sem", "x").wantFired("s2 data")
		m.update("other", "x").wantFired()
	})
}

func TestEndedSessionsWatchesAreSilent(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.watch("s1", "sem", true, true)
		m.expire([]string{"s1"}).wantFired()
		m.update("sem", "x").wantFired()
	})
}

func TestWatchIsOfOneSemaphore(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1)
		m.watch("s1", "sem", true, true)
		m.create("sem", 1, inNode(2)).wantFired()
		m.update("sem", "x", inNode(2)).wantFired()
		m.delete("sem", inNode(2)).wantFired()
		m.create("sem2", 1).wantFired()
		m.update("sem2", "x").wantFired()
		m.update("sem", "x").wantFired("s1 data")
	})
}

// TestWatchFiresOnceForAllThatABatchDoes: a one-shot watch fires once, however many changes a batch contains.
func TestWatchFiresOnceForAllThatABatchDoes(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.watch("s1", "sem", true, true)
		var effects shard.Effects
		name := []byte("sem")
		m.machine.Apply(&shard.Batch{Commands: []shard.Command{
			{Kind: shard.CmdAcquire, Node: homeNode, Name: name, Session: m.id("s2"), Number: 1, Count: 1},
			{Kind: shard.CmdSemaphoreUpdate, Node: homeNode, Name: name, Data: []byte("x")},
			{Kind: shard.CmdSemaphoreDelete, Node: homeNode, Name: name, Flags: shard.FlagForce},
			{Kind: shard.CmdSemaphoreCreate, Node: homeNode, Name: name, Count: 1},
		}}, &effects)
		var fired []string
		m.watches.Apply(effects.List, func(_ uint64, data, owners bool) {
			fired = append(fired, fmt.Sprintf("data=%v owners=%v", data, owners))
		})
		if len(fired) != 1 || fired[0] != "data=false owners=true" {
			t.Errorf("fired %v, not once for the first thing that happened", fired)
		}
	})
}
