package machine_test

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// TestRepeatedMutationGetsItsAnswerAgainAndChangesNothing: see section 4 of shard/DESIGN.md.
func TestRepeatedMutationGetsItsAnswerAgainAndChangesNothing(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		create := m.create("sem", 1, m.by("s1")).want("SUCCESS", "changed sem created")
		again := m.again(create).want("SUCCESS")
		if again.effects[0] != create.effects[0] {
			t.Errorf("answered %v, then %v", create.effects[0], again.effects[0])
		}
		update := m.update("sem", "x", m.by("s1")).want("SUCCESS", "changed sem data")
		m.update("sem", "y").want("SUCCESS", "changed sem data")
		if again := m.again(update).want("SUCCESS"); again.effects[0] != update.effects[0] {
			t.Errorf("answered %v, then %v", update.effects[0], again.effects[0])
		}
		m.wantData("sem", "y")
		m.acquire("s1", "sem").want("SUCCESS acquired order=1", "changed sem owners")
		release := m.release("s1", "sem").want("SUCCESS released", "changed sem owners")
		m.acquire("s2", "sem")
		m.again(release).want("SUCCESS released")
		m.wantLinks("sem", "s2*1 |")
		m.release("s2", "sem")
		del := m.delete("sem", m.by("s1")).want("changed sem data owners deleted", "SUCCESS")
		m.again(del).want("SUCCESS")
	})
}

func TestRefusalIsAnAnswerThatIsKeptToo(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		missing := m.acquire("s1", "sem").want("NOT_FOUND")
		m.create("sem", 1)
		m.again(missing).want("NOT_FOUND")
		taken := m.create("sem", 1, m.by("s1")).want("ALREADY_EXISTS")
		m.delete("sem")
		m.again(taken).want("ALREADY_EXISTS")
		m.wantLinks("sem", "none")
	})
}

// TestRefusalOfTheFormIsNotRecorded: a refusal before the number check is not recorded: the command may be repeated.
func TestRefusalOfTheFormIsNotRecorded(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 2)
		m.acquire("s1", "sem", count(0), number(7)).want("BAD_REQUEST")
		m.acquire("s1", "sem", count(1), number(7)).want("SUCCESS acquired order=1", "changed sem owners")
	})
}

// TestMutationBelowTheHighestNumberThatWasNeverAppliedIsStale: a late acquire must not overtake the release that
// cancelled it.
func TestMutationBelowTheHighestNumberThatWasNeverAppliedIsStale(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1)
		m.release("s1", "sem", number(5)).want("SUCCESS")
		m.acquire("s1", "sem", number(4)).want("STALE")
		m.create("other", 1, m.by("s1"), number(3)).want("STALE")
		m.wantLinks("sem", "|")
		m.acquire("s1", "sem", number(6)).want("SUCCESS acquired order=1", "changed sem owners")
	})
}

// TestRepeatedAcquireIsAnsweredFromTheState: while the session owns or waits, regardless of acknowledgements.
func TestRepeatedAcquireIsAnsweredFromTheState(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		first := m.acquire("s1", "sem")
		second := m.acquire("s2", "sem", timeout(30)).want("SUCCESS queued order=2")
		m.again(first).want("SUCCESS acquired order=1")
		m.again(second).want("SUCCESS queued order=2")
		m.release("s2", "none", acked(second.command.Number))
		m.again(second).want("SUCCESS queued order=2")
		m.release("s1", "sem")
		m.again(second).want("SUCCESS acquired order=2")
		m.restart()
		m.again(second).want("SUCCESS acquired order=2")
	})
}

// TestAnswerOfAQueuedAcquireFollowsWhatBecameOfIt: the cached answer changes with a queued acquire's result.
func TestAnswerOfAQueuedAcquireFollowsWhatBecameOfIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		happen func(m *scene)
		again  string
	}{
		{"granted and released", func(m *scene) { m.release("s1", "sem"); m.release("s2", "sem") },
			"ABORTED RELEASED"},
		{"timed out", func(m *scene) { m.withdraw(m.waiting("s2", "sem")) }, "SUCCESS"},
		{"replaced", func(m *scene) { m.acquire("s2", "sem") }, "ABORTED REPLACED"},
		{"released while waiting", func(m *scene) { m.release("s2", "sem") }, "ABORTED RELEASED"},
		{"deleted", func(m *scene) { m.delete("sem", force) }, "ABORTED DELETED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, func(m *scene) {
				m.start("s1", "s2")
				m.create("sem", 1)
				m.acquire("s1", "sem")
				queued := m.acquire("s2", "sem").want("SUCCESS queued order=2")
				c.happen(m)
				m.again(queued).want(c.again)
				m.restart()
				m.again(queued).want(c.again)
			})
		})
	}
}

// TestAnswerOfAnOwnerFollowsTheLossOfItsSemaphore: a session without ownership never gets the answer "acquired". An
// owner that repeats its latest acquire after the semaphore's deletion gets the deletion as its result.
func TestAnswerOfAnOwnerFollowsTheLossOfItsSemaphore(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 2)
		m.acquire("s1", "sem", count(2))
		m.acquire("s2", "sem").want("SUCCESS queued order=2")
		latest := m.acquire("s1", "sem").want("SUCCESS acquired order=1", "granted s2 sem order=2",
			"changed sem owners")
		granted := m.acquire("s2", "sem", data("x"))
		m.delete("sem", force).want(
			"lost s1 sem order=1", "lost s2 sem order=2", "changed sem data owners deleted", "SUCCESS")
		m.again(latest).want("ABORTED DELETED")
		m.again(granted).want("ABORTED DELETED")
		m.restart()
		m.again(latest).want("ABORTED DELETED")
	})
}

// TestRepetitionAfterTheAnswerWasAcknowledged: after an acknowledged answer, a repeated acquire that neither owns nor
// waits timed out or was superseded while its client was away. Other mutations are not answered again.
func TestRepetitionAfterTheAnswerWasAcknowledged(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		queued := m.acquire("s2", "sem").want("SUCCESS queued order=2")
		create := m.create("other", 1, m.by("s2"))
		m.withdraw(m.waiting("s2", "sem"))
		m.release("s2", "none", acked(create.command.Number))
		m.again(queued).want("SUCCESS")
		m.again(create).want("STALE")
		if got := len(m.sessionState("s2").Answers); got != 1 {
			t.Errorf("%d answers are kept", got)
		}
	})
}

// TestNumberUsedForAnotherRequestIsRefused: a number is bound to its first request's kind and object name (section 2).
func TestNumberUsedForAnotherRequestIsRefused(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1)
		m.acquire("s1", "sem", number(1))
		m.release("s1", "sem", number(1)).want("SEQUENCE_REUSED")
		m.acquire("s1", "other", ephemeral, number(1)).want("SEQUENCE_REUSED")
		m.wantLinks("sem", "s1*1 |")
		m.wantLinks("other", "none")
	})
}

func TestAcknowledgedNumberNeverGoesBack(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		for range 4 {
			m.release("s1", "sem")
		}
		m.release("s1", "sem", acked(3))
		m.release("s1", "sem", acked(1))
		if s := m.sessionState("s1"); s.Acked != 3 || len(s.Answers) != 3 {
			t.Errorf("acknowledged %d, %d answers", s.Acked, len(s.Answers))
		}
	})
}

// TestSessionThatAcknowledgesNothingIsOverloadedInTheEnd: refusals begin at MaxUnacknowledged answers, and end after
// acknowledgements.
func TestSessionThatAcknowledgesNothingIsOverloadedInTheEnd(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		for range shard.MaxUnacknowledged {
			var out shard.Effects
			c := shard.Command{Kind: shard.CmdRelease, Node: homeNode, Name: []byte("sem")}
			m.by("s1")(&c)
			m.machine.Apply(&shard.Batch{Commands: []shard.Command{c}}, &out)
		}
		full := m.acquire("s1", "sem", ephemeral).want("OVERLOADED")
		m.wantLinks("sem", "none")
		if got := m.sessionState("s1").Applied; got != shard.MaxUnacknowledged {
			t.Errorf("number %d is recorded", got)
		}
		m.release("s1", "sem", number(10)).want("SUCCESS") // a repetition needs no room
		retry := full.command
		retry.Acked = 1
		m.do(retry).want("SUCCESS acquired order=1", "changed sem created owners")
	})
}

func TestSessionAndNumberGoTogether(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		noNumber := func(c *shard.Command) { c.Number = 0 }
		noSession := func(c *shard.Command) { c.Session = 0 }
		m.create("sem", 1, m.by("s1"), noNumber).want("BAD_REQUEST")
		m.create("sem", 1, number(1)).want("BAD_REQUEST")
		m.create("sem", 1, acked(1)).want("BAD_REQUEST")
		m.acquire("s1", "sem", ephemeral, noNumber, noSession).want("BAD_REQUEST")
		m.release("s1", "sem", noNumber, noSession).want("BAD_REQUEST")
		m.acquire("s1", "sem", ephemeral, number(3), acked(3)).want("BAD_REQUEST")
		m.acquire("s1", "sem", ephemeral, number(3), acked(2)).want("SUCCESS acquired order=1",
			"changed sem created owners")
	})
}

func TestNumbersAndAnswersGoWithTheirSession(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		o := m.acquire("s1", "sem", ephemeral)
		m.endSession("s1")
		m.again(o).want("SESSION_EXPIRED")
	})
}
