package machine_test

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// TestAcquireCountsFromOneToTheLimit: 0, and more than the limit, are refused.
func TestAcquireCountsFromOneToTheLimit(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(0)).want("BAD_REQUEST")
		m.acquire("s1", "sem", count(4)).want("BAD_REQUEST")
		m.acquire("s1", "sem", count(100500)).want("BAD_REQUEST")
		m.acquire("s1", "sem", count(3)).want("SUCCESS acquired order=1", "changed sem owners")
		m.acquire("s2", "sem", count(4)).want("BAD_REQUEST")
	})
}

func TestAcquireOfAMissingSemaphoreIsNotFoundWhateverItsCount(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.acquire("s1", "sem").want("NOT_FOUND")
		m.acquire("s1", "sem", count(all), try).want("NOT_FOUND")
		m.acquire("s1", "sem", count(0)).want("BAD_REQUEST") // the form is looked at first
		m.wantLinks("sem", "none")
	})
}

func TestAcquireTimeoutIsAtMostADayOrForever(t *testing.T) {
	day := uint64(shard.MaxAcquireTimeout.Milliseconds())
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", timeout(2*24*3600)).want("BAD_REQUEST")
		m.acquire("s2", "sem", millis(day+1)).want("BAD_REQUEST")
		m.acquire("s2", "sem", millis(shard.Forever-1)).want("BAD_REQUEST")
		m.acquire("s2", "sem", millis(day)).want("SUCCESS queued order=2")
		m.acquire("s3", "sem", forever).want("SUCCESS queued order=3")
		if got := m.link("s3", "sem").Timeout; got != shard.Forever {
			t.Errorf("timeout is %d", got)
		}
	})
}

func TestAcquireOfWhatIsTakenWaits(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem").want("SUCCESS acquired order=1", "changed sem owners")
		m.acquire("s2", "sem", timeout(60)).want("SUCCESS queued order=2")
		m.wantLinks("sem", "s1*1 | s2*1")
	})
}

// TestOwnersDataIsNotTheSemaphoresData: both are stored separately.
func TestOwnersDataIsNotTheSemaphoresData(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 5, data("own"))
		m.acquire("s1", "sem", count(3), data("foobar"))
		m.wantLinks("sem", "s1*3 |")
		m.wantData("sem", "own")
		if got := m.link("s1", "sem").Data; got != "foobar" {
			t.Errorf("the owner's data is %q", got)
		}
	})
}

// TestAcquireHeadOfQueueBlocksSmallerRequestsBehindIt: the queue is strictly first in, first out.
func TestAcquireHeadOfQueueBlocksSmallerRequestsBehindIt(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3", "s4")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(2))
		m.acquire("s2", "sem", count(2)).want("SUCCESS queued order=2")
		m.acquire("s3", "sem", count(1)).want("SUCCESS queued order=3")
		m.wantLinks("sem", "s1*2 | s2*2 s3*1")
	})
}

func TestEndOfTheBlockingHeadGrantsWhoStoodBehindIt(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 2)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", count(2)).want("SUCCESS queued order=2")
		m.acquire("s3", "sem").want("SUCCESS queued order=3")
		m.endSession("s2").want("ended s2 STOPPED", "granted s3 sem order=3", "changed sem owners", "SUCCESS")
		m.wantLinks("sem", "s1*1 s3*1 |")
	})
}

func TestReleaseGrantsAllThatFitInOrder(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3", "s4")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(2))
		m.acquire("s2", "sem", count(2))
		m.acquire("s3", "sem")
		m.acquire("s4", "sem")
		m.release("s1", "sem").want(
			"SUCCESS released",
			"granted s2 sem order=2",
			"granted s3 sem order=3",
			"changed sem owners",
		)
		m.wantLinks("sem", "s2*2 s3*1 | s4*1")
	})
}

func TestOwnerThatLowersItsCountMakesRoomForTheQueue(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(2))
		m.acquire("s2", "sem")
		m.acquire("s3", "sem")
		m.acquire("s1", "sem").want("SUCCESS acquired order=1", "granted s3 sem order=3", "changed sem owners")
		m.wantLinks("sem", "s1*1 s2*1 s3*1 |")
		// A new leader changes nothing.
		m.restart()
		m.wantLinks("sem", "s1*1 s2*1 s3*1 |")
	})
}

func TestOwnerThatAcquiresTheSameAgainKeepsAllAndChangesNothing(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(2), data("x")).want("SUCCESS acquired order=1", "changed sem owners")
		m.acquire("s1", "sem", count(2), data("x")).want("SUCCESS acquired order=1")
		m.acquire("s1", "sem", count(2), data("x"), try).want("SUCCESS acquired order=1")
		m.wantLinks("sem", "s1*2 |")
	})
}

func TestOwnerThatAcquiresWithoutDataClearsIt(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1)
		m.acquire("s1", "sem", data("x"))
		m.acquire("s1", "sem").want("SUCCESS acquired order=1", "changed sem owners")
		if got := m.link("s1", "sem").Data; got != "" {
			t.Errorf("data is %q", got)
		}
	})
}

// TestOwnerNeverGrows: an owner cannot raise its count.
func TestOwnerNeverGrows(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 3)
		m.acquire("s1", "sem", data("x"))
		m.acquire("s1", "sem", count(2), data("y")).want("BAD_REQUEST")
		m.acquire("s1", "eph", ephemeral)
		m.acquire("s1", "eph", ephemeral, count(all)).want("BAD_REQUEST")
		m.wantLinks("sem", "s1*1 |")
		m.wantLinks("eph", "s1*1 |")
		if got := m.link("s1", "sem").Data; got != "x" {
			t.Errorf("data is %q", got)
		}
	})
}

// TestOwnersTimeoutIsIgnored: rule 1.6: an owner's timeout is ignored.
func TestOwnersTimeoutIsIgnored(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem", timeout(30))
		m.acquire("s1", "sem", forever).want("SUCCESS acquired order=1")
		m.withdraw(m.waiting("s1", "sem")).want("SUCCESS")
		m.wantLinks("sem", "s1*1 |")
	})
}

func TestAcquiringTwiceIsReleasedByOneRelease(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 2)
		m.acquire("s1", "sem")
		m.acquire("s1", "sem")
		m.release("s1", "sem").want("SUCCESS released", "changed sem owners")
		m.wantLinks("sem", "|")
	})
}

// TestOrderIDsGrowOverAllSemaphoresAndNodes: the shard has one counter for all semaphores and nodes (DESIGN.md section
// 6).
func TestOrderIDsGrowOverAllSemaphoresAndNodes(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.startSession("other", inNode(2))
		m.create("a", 1)
		m.acquire("s1", "a").want("SUCCESS acquired order=1", "changed a owners")
		m.acquire("other", "a", inNode(2), ephemeral).want("SUCCESS acquired order=2", "changed a created owners")
		m.acquire("s1", "b", ephemeral).want("SUCCESS acquired order=3", "changed b created owners")
	})
}

// TestTryThatFailsLeavesNoTrace: it uses no order id.
func TestTryThatFailsLeavesNoTrace(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem").want("SUCCESS acquired order=1", "changed sem owners")
		m.acquire("s2", "sem", try).want("SUCCESS")
		m.wantLinks("sem", "s1*1 |")
		m.acquire("s2", "sem").want("SUCCESS queued order=2")
	})
}

// TestTryNeverOvertakesTheQueue: rule 1.
func TestTryNeverOvertakesTheQueue(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(2))
		m.acquire("s2", "sem", count(2))
		m.acquire("s3", "sem", try).want("SUCCESS")
		m.wantLinks("sem", "s1*2 | s2*2")
	})
}

func TestTryThatFitsSucceeds(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 2)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", try).want("SUCCESS acquired order=2", "changed sem owners")
	})
}

// TestCountsUpToTheHighestNumberDoNotOverflow: counts near 2^64 must not wrap around.
func TestCountsUpToTheHighestNumberDoNotOverflow(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", all)
		m.acquire("s1", "sem", count(1<<63)).want("SUCCESS acquired order=1", "changed sem owners")
		m.acquire("s2", "sem", count(1<<63)).want("SUCCESS queued order=2")
		m.acquire("s2", "sem", count(1<<63-1)).want(
			"aborted REPLACED s2 sem order=2", "SUCCESS acquired order=2", "changed sem owners")
		m.acquire("s3", "sem").want("SUCCESS queued order=3")
		m.release("s1", "sem").want("SUCCESS released", "granted s3 sem order=3", "changed sem owners")
	})
}

func TestWaiterWithoutTimeoutIsGrantedOnRelease(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", forever).want("SUCCESS queued order=2")
		m.release("s1", "sem").want("SUCCESS released", "granted s2 sem order=2", "changed sem owners")
	})
}
