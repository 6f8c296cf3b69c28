package machine_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

func TestWaiterThatAsksForLessAndFitsIsGrantedAtOnce(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 2)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", count(2))
		m.acquire("s2", "sem").want("aborted REPLACED s2 sem order=2", "SUCCESS acquired order=2", "changed sem owners")
		m.wantLinks("sem", "s1*1 s2*1 |")
	})
}

func TestWaiterThatAsksForLessAndFitsLetsThoseBehindItIn(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3", "s4")
		m.create("sem", 4)
		m.acquire("s1", "sem", count(2))
		m.acquire("s2", "sem", count(4))
		m.acquire("s3", "sem")
		m.acquire("s4", "sem")
		m.acquire("s2", "sem").want(
			"aborted REPLACED s2 sem order=2",
			"SUCCESS acquired order=2",
			"granted s3 sem order=3",
			"changed sem owners",
		)
		m.wantLinks("sem", "s1*2 s2*1 s3*1 | s4*1")
	})
}

func TestWaiterThatAsksForLessKeepsPlaceAndOrderIDAndIsQueuedAnew(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 4)
		m.acquire("s1", "sem", count(3))
		m.acquire("s2", "sem", count(3), timeout(60), data("x")).want("SUCCESS queued order=2")
		m.acquire("s3", "sem").want("SUCCESS queued order=3")
		m.acquire("s2", "sem", count(2), timeout(30)).want("aborted REPLACED s2 sem order=2", "SUCCESS queued order=2")
		m.wantLinks("sem", "s1*3 | s2*2 s3*1")
		if l := m.link("s2", "sem"); l.Timeout != 30_000 || l.Data != "" {
			t.Errorf("timeout %d, data %q", l.Timeout, l.Data)
		}
	})
}

// TestWaiterNeverGrows: rule 2.
func TestWaiterNeverGrows(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(3))
		m.acquire("s2", "sem").want("SUCCESS queued order=2")
		m.acquire("s2", "sem", count(2), timeout(1)).want("BAD_REQUEST")
		m.acquire("s2", "sem", count(2), try).want("BAD_REQUEST")
		m.wantLinks("sem", "s1*3 | s2*1")
		m.release("s1", "sem").want("SUCCESS released", "granted s2 sem order=2", "changed sem owners")
	})
}

// TestWaiterBehindTheHeadGainsNothingByAskingForLess: not before it is the head.
func TestWaiterBehindTheHeadGainsNothingByAskingForLess(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(2))
		m.acquire("s2", "sem", count(2))
		m.acquire("s3", "sem", count(2))
		m.acquire("s3", "sem").want("aborted REPLACED s3 sem order=3", "SUCCESS queued order=3")
		m.release("s2", "sem").want(
			"aborted RELEASED s2 sem order=2", "SUCCESS released", "granted s3 sem order=3", "changed sem owners")
	})
}

func TestWaiterThatTriesAndDoesNotFitLeaves(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem")
		m.acquire("s3", "sem")
		m.acquire("s3", "sem", try).want("aborted REPLACED s3 sem order=3", "SUCCESS") // not the head
		m.wantLinks("sem", "s1*1 | s2*1")
		m.acquire("s2", "sem", try).want("aborted REPLACED s2 sem order=2", "SUCCESS") // the head
		m.wantLinks("sem", "s1*1 |")
		m.restart()
		m.wantLinks("sem", "s1*1 |")
	})
}

func TestHeadThatTriesAndLeavesLetsThoseBehindItIn(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3", "s4")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(1))
		m.acquire("s2", "sem", count(3))
		m.acquire("s3", "sem", count(1))
		m.acquire("s4", "sem", count(2))
		m.acquire("s2", "sem", count(3), try).want(
			"aborted REPLACED s2 sem order=2", "SUCCESS", "granted s3 sem order=3", "changed sem owners")
		m.wantLinks("sem", "s1*1 s3*1 | s4*2")
	})
}

func TestHeadThatTriesAndFitsIsGranted(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(2))
		m.acquire("s2", "sem", count(2))
		m.acquire("s2", "sem", count(1), try).want(
			"aborted REPLACED s2 sem order=2", "SUCCESS acquired order=2", "changed sem owners")
	})
}

func TestWaiterThatTimesOutLeavesAndLaterJoinsAtTheTail(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", timeout(60))
		m.acquire("s3", "sem", timeout(30))
		m.after(30 * time.Second).want("SUCCESS")
		m.after(time.Millisecond).want("timed-out s3 sem order=3", "SUCCESS")
		m.after(time.Minute).want("timed-out s2 sem order=2", "SUCCESS")
		m.wantLinks("sem", "s1*1 |")
		m.acquire("s2", "sem").want("SUCCESS queued order=4")
	})
}

func TestHeadThatTimesOutLetsThoseBehindItIn(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3", "s4")
		m.create("sem", 3)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", count(3), timeout(30))
		m.acquire("s3", "sem")
		m.acquire("s4", "sem")
		m.after(time.Minute).want(
			"timed-out s2 sem order=2",
			"granted s3 sem order=3",
			"granted s4 sem order=4",
			"changed sem owners",
			"SUCCESS",
		)
	})
}

// TestWaitersTimeOutInTheOrderOfTheirDeadlines: one command may end several waits, simultaneous ones by order id; the
// wait of a granted waiter does not end.
func TestWaitersTimeOutInTheOrderOfTheirDeadlines(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3", "s4")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(2))
		m.acquire("s2", "sem", count(2), timeout(30))
		m.acquire("s3", "sem", timeout(30))
		m.acquire("s4", "sem", timeout(20))
		m.after(time.Minute).want(
			"timed-out s4 sem order=4",
			"timed-out s2 sem order=2",
			"granted s3 sem order=3", "changed sem owners",
			"SUCCESS",
		)
	})
}

// TestOnlyTheAcquireThatIsNamedIsWithdrawn: withdrawing a replaced acquire must not end the new one.
func TestOnlyTheAcquireThatIsNamedIsWithdrawn(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem")
		old := m.waiting("s2", "sem")
		m.acquire("s2", "sem").want("aborted REPLACED s2 sem order=2", "SUCCESS queued order=2")
		m.withdraw(old).want("SUCCESS")
		right := m.waiting("s2", "sem")
		for _, wrong := range []func(*shard.WaiterRef){
			func(w *shard.WaiterRef) { w.Node++ },
			func(w *shard.WaiterRef) { w.Name = []byte("other") },
			func(w *shard.WaiterRef) { w.Session = m.id("s1") },
			func(w *shard.WaiterRef) { w.Order++ },
			func(w *shard.WaiterRef) { w.Number++ },
		} {
			w := right
			wrong(&w)
			m.withdraw(w).want("SUCCESS")
		}
		m.wantLinks("sem", "s1*1 | s2*1")
		m.withdraw(right).want("timed-out s2 sem order=2", "SUCCESS")
	})
}

// TestAReplacedAcquireHasADeadlineOfItsOwn: the earlier acquire's deadline ends with it.
func TestAReplacedAcquireHasADeadlineOfItsOwn(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", timeout(30))
		m.after(20 * time.Second).want("SUCCESS")
		m.acquire("s2", "sem", timeout(30))
		m.after(30 * time.Second).want("SUCCESS")
		m.acquire("s2", "sem", forever)
		m.after(time.Hour).want("SUCCESS")
		m.wantLinks("sem", "s1*1 | s2*1")
	})
}

// TestAWaiterThatWasGrantedDoesNotTimeOut: its deadline ends with the wait.
func TestAWaiterThatWasGrantedDoesNotTimeOut(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", timeout(30))
		m.release("s1", "sem")
		m.after(time.Hour).want("SUCCESS")
		m.wantLinks("sem", "s2*1 |")
	})
}

// TestWaiterTimesOutUnderANewLeaderAndItsSessionStays: the new leader continues the earlier leader's wait.
func TestWaiterTimesOutUnderANewLeaderAndItsSessionStays(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", timeout(60))
		m.after(50 * time.Second).want("SUCCESS")
		m.restart()
		m.lead(7)
		m.after(10 * time.Second).want("SUCCESS")
		m.after(time.Millisecond).want("timed-out s2 sem order=2", "SUCCESS")
		m.updateSession("s2").want("SUCCESS")
	})
}
