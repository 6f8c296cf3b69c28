package machine_test

import "testing"

func TestReleaseWhileWaitingAbortsTheAcquireFirst(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem")
		m.release("s2", "sem").want("aborted RELEASED s2 sem order=2", "SUCCESS released")
		m.wantLinks("sem", "s1*1 |")
	})
}

// TestWaiterThatReleasedAcquiresAnewAndIsGranted: a regression test.
func TestWaiterThatReleasedAcquiresAnewAndIsGranted(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s0", "s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem")
		m.release("s2", "sem")
		m.acquire("s2", "sem").want("SUCCESS queued order=3")
		m.release("s1", "sem").want("SUCCESS released", "granted s2 sem order=3", "changed sem owners")
	})
}

// TestReleaseOfNothingSucceedsAndChangesNothing: it reports that nothing was released.
func TestReleaseOfNothingSucceedsAndChangesNothing(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem")
		m.release("s2", "sem").want("aborted RELEASED s2 sem order=2", "SUCCESS released")
		m.release("s2", "sem").want("SUCCESS")
		m.release("s2", "no such semaphore").want("SUCCESS")
		m.wantLinks("sem", "s1*1 |")
	})
}

func TestReleaseByTheHeadLetsThoseBehindItIn(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3", "s4")
		m.create("sem", 3)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", count(3))
		m.acquire("s3", "sem", count(2))
		m.acquire("s4", "sem")
		m.release("s2", "sem").want(
			"aborted RELEASED s2 sem order=2",
			"SUCCESS released",
			"granted s3 sem order=3",
			"changed sem owners",
		)
		m.wantLinks("sem", "s1*1 s3*2 | s4*1")
	})
}

func TestReleaseByAWaiterBehindTheHeadGrantsNothing(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3", "s4")
		m.create("sem", 3)
		m.acquire("s1", "sem", count(2))
		m.acquire("s2", "sem", count(2))
		m.acquire("s3", "sem")
		m.acquire("s4", "sem")
		m.release("s3", "sem").want("aborted RELEASED s3 sem order=3", "SUCCESS released")
		m.wantLinks("sem", "s1*2 | s2*2 s4*1")
	})
}

// TestReleaseIsFencedByTheOrderID: a release with a stale order id is refused (DESIGN.md section 6).
func TestReleaseIsFencedByTheOrderID(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem").want("SUCCESS acquired order=1", "changed sem owners")
		m.acquire("s2", "sem").want("SUCCESS queued order=2")
		m.release("s1", "sem", guard(2)).want("FENCED")
		m.release("s2", "sem", guard(1)).want("FENCED")
		m.release("s2", "sem", guard(2)).want("aborted RELEASED s2 sem order=2", "SUCCESS released")
		m.release("s1", "sem", guard(1)).want("SUCCESS released", "changed sem owners")
		m.release("s1", "sem", guard(1)).want("FENCED") // deleted: this token's holder is late
		m.release("s1", "no such semaphore", guard(1)).want("FENCED")
		m.acquire("s1", "sem").want("SUCCESS acquired order=3", "changed sem owners")
		m.release("s1", "sem", guard(1)).want("FENCED")
		m.wantLinks("sem", "s1*1 |")
	})
}
