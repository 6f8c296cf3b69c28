package machine_test

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

func TestCreateOfWhatExistsKeepsTheFirstLimit(t *testing.T) {
	play(t, func(m *scene) {
		m.create("sem", 42).want("node 1 seen", "SUCCESS", "changed sem created")
		m.create("sem", 42).want("ALREADY_EXISTS")
		m.create("sem", 51).want("ALREADY_EXISTS")
		if got := m.semaphore("sem").Limit; got != 42 {
			t.Errorf("limit is %d", got)
		}
	})
}

func TestCreateOfWhatExistsKeepsItsData(t *testing.T) {
	play(t, func(m *scene) {
		m.create("sem", 1, data("a"))
		m.create("sem", 1, data("b")).want("ALREADY_EXISTS")
		m.wantData("sem", "a")
	})
}

func TestCreateOverAnEphemeralSemaphoreFails(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.acquire("s1", "L", ephemeral)
		m.create("L", 1).want("PRECONDITION_FAILED")
		m.release("s1", "L")
		m.create("L", 1).want("SUCCESS", "changed L created")
	})
}

func TestCreateNeedsALimit(t *testing.T) {
	play(t, func(m *scene) {
		m.create("sem", 0).want("BAD_REQUEST")
		m.create("sem", 1).want("node 1 seen", "SUCCESS", "changed sem created")
		m.create("unbounded", all).want("SUCCESS", "changed unbounded created")
	})
}

func TestDataIsBytesAndSurvivesANewLeader(t *testing.T) {
	const bytes = "\xff\x00\xc3\x28"
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1, data(bytes))
		m.acquire("s1", "sem", data(bytes+bytes))
		m.restart()
		m.wantData("sem", bytes)
		if got := m.link("s1", "sem").Data; got != bytes+bytes {
			t.Errorf("data of the owner is %q", got)
		}
	})
}

// TestDataHasALimit: a refused command has no effect.
func TestDataHasALimit(t *testing.T) {
	longest, tooLong := strings.Repeat("x", shard.MaxData), strings.Repeat("x", shard.MaxData+1)
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1, data(tooLong)).want("BAD_REQUEST")
		m.create("sem", 1, data(longest)).want("SUCCESS", "changed sem created")
		m.update("sem", tooLong+"y").want("BAD_REQUEST")
		m.wantData("sem", longest)
		m.update("sem", "y"+longest[1:]).want("SUCCESS", "changed sem data")
		m.acquire("s1", "sem", data(tooLong)).want("BAD_REQUEST")
		m.acquire("s1", "sem", data(longest)).want("SUCCESS acquired order=1", "changed sem owners")
	})
}

// TestNameHasOneToOneThousandAndTwentyFourBytesEverywhere: DESIGN.md section 6, oddity O3: names are 1 to 1024 bytes
// for every operation alike.
func TestNameHasOneToOneThousandAndTwentyFourBytesEverywhere(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		for _, bad := range []string{"", strings.Repeat("n", 1025)} {
			m.create(bad, 1).want("BAD_REQUEST")
			m.update(bad, "x").want("BAD_REQUEST")
			m.delete(bad).want("BAD_REQUEST")
			m.acquire("s1", bad, ephemeral).want("BAD_REQUEST")
			m.release("s1", bad).want("BAD_REQUEST")
		}
		longest := strings.Repeat("n", 1024)
		m.acquire("s1", longest, ephemeral).want("SUCCESS acquired order=1", "changed "+longest+" created owners")
		m.create("n", 1).want("SUCCESS", "changed n created")
	})
}

func TestNamesHaveNoPathMeaning(t *testing.T) {
	play(t, func(m *scene) {
		for _, name := range []string{"/foo/bar", "/foo", "foo/bar/", "..", " ", "\x00", "\xff"} {
			m.create(name, 1, data(name))
		}
		m.wantData("/foo/bar", "/foo/bar")
		m.delete("/foo").want("changed /foo data owners deleted", "SUCCESS")
		m.wantData("/foo/bar", "/foo/bar")
	})
}

func TestUpdateOfAMissingNameCreatesNothing(t *testing.T) {
	play(t, func(m *scene) {
		m.update("sem", "x").want("NOT_FOUND")
		m.wantLinks("sem", "none")
	})
}

// TestUpdateWithTheSameBytesChangesNothing: rule 1.5.
func TestUpdateWithTheSameBytesChangesNothing(t *testing.T) {
	play(t, func(m *scene) {
		m.create("sem", 1, data("a"))
		before := m.semaphore("sem").Revision
		o := m.update("sem", "a").want("SUCCESS")
		if got := o.effects[0].Revision; got != before || m.semaphore("sem").Revision != before {
			t.Errorf("revision went from %d to %d, answered %d", before, m.semaphore("sem").Revision, got)
		}
		m.update("sem", "b").want("SUCCESS", "changed sem data")
		m.update("sem", "").want("SUCCESS", "changed sem data")
	})
}

func TestAnybodyUpdatesTheDataOfAnEphemeralSemaphoreAndItGoesWithIt(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.acquire("s1", "eph", ephemeral)
		m.update("eph", "x", m.by("s2")).want("SUCCESS", "changed eph data")
		m.wantData("eph", "x")
		m.release("s1", "eph").want("SUCCESS released", "changed eph data owners deleted")
		m.update("eph", "y", m.by("s2")).want("NOT_FOUND")
		m.acquire("s1", "eph", ephemeral)
		m.wantData("eph", "")
	})
}

// TestUpdateIsFencedByTheOrderIDOfAnOwner: an update with a stale order id is refused (DESIGN.md section 6).
func TestUpdateIsFencedByTheOrderIDOfAnOwner(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem").want("SUCCESS acquired order=1", "changed sem owners")
		m.acquire("s2", "sem").want("SUCCESS queued order=2")
		m.update("sem", "one", m.by("s1"), guard(1)).want("SUCCESS", "changed sem data")
		m.update("sem", "two", m.by("s1"), guard(2)).want("FENCED")
		m.update("sem", "two", m.by("s2"), guard(1)).want("FENCED")
		m.update("sem", "two", m.by("s2"), guard(2)).want("FENCED") // a waiter is no owner
		m.update("sem", "two", guard(1)).want("FENCED")             // without a session
		m.release("s1", "sem")
		m.update("sem", "two", m.by("s1"), guard(1)).want("FENCED")
		m.update("sem", "three", m.by("s2"), guard(2)).want("SUCCESS", "changed sem data")
		m.acquire("s1", "sem", try)
		m.update("sem", "three", m.by("s1"), guard(1)).want("FENCED") // even without a change
		m.update("none", "x", m.by("s1"), guard(1)).want("NOT_FOUND")
		m.wantData("sem", "three")
	})
}

// TestUpdateIsRefusedWhereTheRevisionIsNotTheExpectedOne: if several clients have read the same revision, one update
// succeeds (section 3, update).
func TestUpdateIsRefusedWhereTheRevisionIsNotTheExpectedOne(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1, data("one"))
		read := m.semaphore("sem").Revision
		m.update("sem", "two", ifRevision(read)).want("SUCCESS", "changed sem data")
		m.update("sem", "three", ifRevision(read)).want("PRECONDITION_FAILED")
		m.update("sem", "two", ifRevision(read)).want("PRECONDITION_FAILED") // even without a change
		m.update("sem", "three", ifRevision(m.semaphore("sem").Revision+1)).want("PRECONDITION_FAILED")
		m.update("sem", "two", ifRevision(m.semaphore("sem").Revision)).want("SUCCESS")
		m.wantData("sem", "two")

		read = m.semaphore("sem").Revision
		m.acquire("s1", "sem")
		m.update("sem", "three", ifRevision(read)).want("PRECONDITION_FAILED") // an owner is a change too
		m.update("sem", "three", m.by("s1"), guard(2), ifRevision(read)).want("FENCED")
		m.update("sem", "three", m.by("s1"), guard(1), ifRevision(read)).want("PRECONDITION_FAILED")
		m.update("sem", "three", m.by("s1"), guard(1), ifRevision(m.semaphore("sem").Revision)).want("SUCCESS",
			"changed sem data")
		m.update("none", "x", ifRevision(1)).want("NOT_FOUND")
		m.wantData("sem", "three")
	})
}

// TestAnUpdateThatWasRefusedForItsRevisionStaysRefused: a refusal is cached under its number like any answer, so the
// update cannot succeed later.
func TestAnUpdateThatWasRefusedForItsRevisionStaysRefused(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1, data("one"))
		late := m.semaphore("sem").Revision + 1
		m.update("sem", "three", m.by("s1"), number(7), ifRevision(late)).want("PRECONDITION_FAILED")
		m.update("sem", "two").want("SUCCESS", "changed sem data")
		m.update("sem", "three", m.by("s1"), number(7), ifRevision(late)).want("PRECONDITION_FAILED")
		m.wantData("sem", "two")
	})
}

func TestDeleteOfAnEmptySemaphoreSucceedsOnce(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1)
		m.delete("sem").want("changed sem data owners deleted", "SUCCESS")
		m.delete("sem").want("NOT_FOUND")
		m.delete("sem", force).want("NOT_FOUND")
	})
}

func TestDeleteWithoutForceFailsWhileASessionOwnsOrWaits(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.delete("sem").want("PRECONDITION_FAILED")
		m.acquire("s2", "sem")
		m.delete("sem").want("PRECONDITION_FAILED")
		m.wantLinks("sem", "s1*1 | s2*1")
	})
}

// TestForcedDeleteAbortsWaitersTellsOwnersAndAnswersLast: owners get Lost (DESIGN.md section 6).
func TestForcedDeleteAbortsWaitersTellsOwnersAndAnswersLast(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3", "s4")
		m.create("sem", 2)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem")
		m.acquire("s3", "sem", count(2))
		m.acquire("s4", "sem")
		m.delete("sem", force).want(
			"aborted DELETED s3 sem order=3",
			"aborted DELETED s4 sem order=4",
			"lost s1 sem order=1",
			"lost s2 sem order=2",
			"changed sem data owners deleted",
			"SUCCESS",
		)
		m.release("s1", "sem").want("SUCCESS")
	})
}

// TestSemaphoreMadeAgainIsANewOneWithHigherNumbers: order ids and revisions continue.
func TestSemaphoreMadeAgainIsANewOneWithHigherNumbers(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1, data("old"))
		m.acquire("s1", "sem").want("SUCCESS acquired order=1", "changed sem owners")
		before := m.semaphore("sem").Revision
		m.delete("sem", force)
		m.create("sem", 3)
		m.wantLinks("sem", "|")
		m.wantData("sem", "")
		if got := m.semaphore("sem").Revision; got <= before {
			t.Errorf("revision went from %d to %d", before, got)
		}
		m.release("s1", "sem").want("SUCCESS")
		m.acquire("s2", "sem").want("SUCCESS acquired order=2", "changed sem owners")
	})
}

// TestDeleteOfAnEphemeralSemaphoreFailsEvenWithForce: rule 1.9.
func TestDeleteOfAnEphemeralSemaphoreFailsEvenWithForce(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.acquire("s1", "eph", ephemeral)
		m.delete("eph").want("PRECONDITION_FAILED")
		m.delete("eph", force).want("PRECONDITION_FAILED")
		m.wantLinks("eph", "s1*1 |")
	})
}
