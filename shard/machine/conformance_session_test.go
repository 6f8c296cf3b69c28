package machine_test

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

func TestSessionIDsCountUpAndAreNeverUsedAgain(t *testing.T) {
	play(t, func(m *scene) {
		m.startSession("s1").want("node 1 seen", "SUCCESS")
		m.startSession("s2").want("SUCCESS")
		m.endSession("s2").want("ended s2 STOPPED", "SUCCESS")
		m.startSession("s3", inSlot(17)).want("SUCCESS")
		for session, counter := range map[string]uint64{"s1": 1, "s2": 2, "s3": 3} {
			if got := m.id(session).Counter(); got != counter {
				t.Errorf("%s has counter %d, not %d", session, got, counter)
			}
		}
		if got := m.id("s3").Slot(); got != 17 {
			t.Errorf("s3 lives in slot %d, not 17", got)
		}
	})
}

func TestUnknownOrEndedSessionIsExpiredForEverything(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1).want("SUCCESS", "changed sem created")
		m.endSession("s2").want("ended s2 STOPPED", "SUCCESS")
		m.sessions["never"] = shard.NewSessionID(0, 99)
		for _, gone := range []string{"s2", "never"} {
			m.updateSession(gone).want("SESSION_EXPIRED")
			m.endSession(gone).want("SESSION_EXPIRED")
			m.acquire(gone, "sem").want("SESSION_EXPIRED")
			m.release(gone, "sem").want("SESSION_EXPIRED")
			m.create("other", 1, m.by(gone)).want("SESSION_EXPIRED")
			m.update("sem", "x", m.by(gone)).want("SESSION_EXPIRED")
			m.delete("sem", m.by(gone)).want("SESSION_EXPIRED")
		}
	})
}

func TestOnlyASessionMadeWithAKeyIsProtectedByIt(t *testing.T) {
	play(t, func(m *scene) {
		m.startSession("open")
		m.startSession("locked", key("K"))
		m.updateSession("open", key("anything")).want("SUCCESS")
		m.updateSession("open").want("SUCCESS")
		m.updateSession("locked", key("K"), timeout(20)).want("SUCCESS")
		m.updateSession("locked", key("k"), timeout(30)).want("BAD_SESSION")
		m.updateSession("locked", timeout(30)).want("BAD_SESSION")
		if s := m.sessionState("locked"); s.Timeout != 20_000 || s.Key != "K" {
			t.Errorf("locked has timeout %d and key %q", s.Timeout, s.Key)
		}
	})
}

// TestKeyIsNeitherAddedNorChangedByAnUpdate: rule 1.4: the key can never be changed or added.
func TestKeyIsNeitherAddedNorChangedByAnUpdate(t *testing.T) {
	play(t, func(m *scene) {
		m.startSession("open")
		m.updateSession("open", key("K")).want("SUCCESS")
		if got := m.sessionState("open").Key; got != "" {
			t.Errorf("key is %q", got)
		}
	})
}

func TestUpdateReplacesTimeoutAndDetails(t *testing.T) {
	play(t, func(m *scene) {
		m.startSession("s1", timeout(30), data("first"))
		m.updateSession("s1", timeout(5), data("second")).want("SUCCESS")
		if s := m.sessionState("s1"); s.Timeout != 5000 || s.Details != "second" {
			t.Errorf("timeout %d, details %q", s.Timeout, s.Details)
		}
		m.updateSession("s1", timeout(5)).want("SUCCESS")
		if s := m.sessionState("s1"); s.Details != "" {
			t.Errorf("details are still %q", s.Details)
		}
	})
}

func TestSessionFieldsHaveLimits(t *testing.T) {
	longest := uint64(shard.MaxSessionTimeout.Milliseconds())
	for _, c := range []struct {
		name   string
		field  option
		status string
	}{
		{"details of 2048", data(strings.Repeat("d", 2048)), "SUCCESS"},
		{"details of 2049", data(strings.Repeat("d", 2049)), "BAD_REQUEST"},
		{"key of 16", key(strings.Repeat("k", 16)), "SUCCESS"},
		{"key of 17", key(strings.Repeat("k", 17)), "BAD_REQUEST"},
		{"timeout 0", millis(0), "SUCCESS"},
		{"timeout 30 min", millis(longest), "SUCCESS"},
		{"timeout 30 min and 1 ms", millis(longest + 1), "BAD_REQUEST"},
		{"timeout 2 days", timeout(2 * 24 * 3600), "BAD_REQUEST"},
		{"timeout forever", forever, "BAD_REQUEST"},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, func(m *scene) {
				m.start("s1")
				m.startSession("s2", c.field).want(c.status)
				m.updateSession("s1", c.field).want(c.status)
			})
		})
	}
}

func TestEndOfASessionReleasesAllThatItOwns(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1)
		m.acquire("s1", "eph", ephemeral)
		m.acquire("s1", "sem")
		m.endSession("s1").want(
			"ended s1 STOPPED",
			"changed eph data owners deleted",
			"changed sem owners",
			"SUCCESS",
		)
		m.wantLinks("sem", "|")
		m.wantLinks("eph", "none")
		m.updateSession("s1").want("SESSION_EXPIRED")
	})
}

func TestEndOfASessionAbortsNoneOfItsOwnAcquires(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem").want("SUCCESS queued order=2")
		m.endSession("s2").want("ended s2 STOPPED", "SUCCESS")
		m.wantLinks("sem", "s1*1 |")
	})
}

// TestEndOfASessionServesEachQueueInOrderOfOrderID: links are removed by order id, each with its own queue run (section
// 3 of DESIGN.md).
func TestEndOfASessionServesEachQueueInOrderOfOrderID(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("a", 1)
		m.create("b", 1)
		m.create("c", 1)
		m.acquire("s1", "b").want("SUCCESS acquired order=1", "changed b owners")
		m.acquire("s3", "c").want("SUCCESS acquired order=2", "changed c owners")
		m.acquire("s1", "c").want("SUCCESS queued order=3")
		m.acquire("s1", "a").want("SUCCESS acquired order=4", "changed a owners")
		m.acquire("s2", "a").want("SUCCESS queued order=5")
		m.acquire("s2", "b").want("SUCCESS queued order=6")
		m.expire([]string{"s1"}).want(
			"ended s1 EXPIRED",
			"granted s2 b order=6", "changed b owners",
			"granted s2 a order=5", "changed a owners",
			"SUCCESS",
		)
		m.wantLinks("c", "s3*1 |")
	})
}

func TestEndTellsWhyTheSessionEnded(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.endSession("s1").want("ended s1 STOPPED", "SUCCESS")
		m.endSession("s2", byOperator).want("ended s2 DESTROYED", "SUCCESS")
		m.expire([]string{"s3"}).want("ended s3 EXPIRED", "SUCCESS")
	})
}

func TestExpiryOfTheOwnerGrantsTheWaiter(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.create("sem", 1)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem")
		m.wantLinks("sem", "s1*1 | s2*1")
		m.expire([]string{"s1"}).want("ended s1 EXPIRED", "granted s2 sem order=2", "changed sem owners", "SUCCESS")
		m.wantLinks("sem", "s2*1 |")
	})
}

func TestExpiryPassesOverWhoIsGoneAndGoesInTheOrderGiven(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.endSession("s2")
		m.expire([]string{"s3", "s2", "s1", "s3"}).want("ended s3 EXPIRED", "ended s1 EXPIRED", "SUCCESS")
	})
}

// TestExpiryEndsOneSessionAfterTheOther: each end is complete before the next: the waiter behind the first session owns
// briefly.
func TestExpiryEndsOneSessionAfterTheOther(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 2)
		m.acquire("s1", "sem")
		m.acquire("s2", "sem", count(2))
		m.acquire("s3", "sem")
		m.expire([]string{"s2", "s3"}).want(
			"ended s2 EXPIRED", "granted s3 sem order=3", "changed sem owners",
			"ended s3 EXPIRED", "changed sem owners",
			"SUCCESS",
		)
		m.wantLinks("sem", "s1*1 |")
	})
}

func TestExpiryOfAnEarlierTermIsVoid(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.lead(5).want("SUCCESS")
		m.expire([]string{"s1"}, inTerm(4)).want("STALE")
		m.expire([]string{"s1"}, inTerm(6)).want("STALE")
		m.expire([]string{"s1"}, inTerm(5)).want("ended s1 EXPIRED", "SUCCESS")
	})
}

func TestTermNeverGoesBack(t *testing.T) {
	play(t, func(m *scene) {
		m.lead(5).want("SUCCESS")
		m.lead(5).want("SUCCESS")
		m.lead(4).want("STALE")
		m.lead(7).want("SUCCESS")
		if got := m.machine.State().Term; got != 7 {
			t.Errorf("term is %d", got)
		}
	})
}

func TestListsHaveALimit(t *testing.T) {
	play(t, func(m *scene) {
		longest := make([]shard.SessionID, shard.MaxList)
		tooLong := make([]shard.SessionID, shard.MaxList+1)
		for _, kind := range []shard.CommandKind{shard.CmdSessionsExpire, shard.CmdSessionsForget} {
			m.do(shard.Command{Kind: kind, Sessions: longest}).want("SUCCESS")
			m.do(shard.Command{Kind: kind, Sessions: tooLong}).want("BAD_REQUEST")
		}
	})
}

// TestNewLeaderKeepsOwnersUntilTheirSessionsExpire: a new leader changes nothing; only expired sessions end.
func TestNewLeaderKeepsOwnersUntilTheirSessionsExpire(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.acquire("s1", "L1", ephemeral, count(all), timeout(30))
		m.acquire("s1", "L2", ephemeral, timeout(30))
		m.acquire("s2", "L2", ephemeral, timeout(30))
		m.restart()
		m.wantLinks("L1", "s1*all |")
		m.wantLinks("L2", "s1*1 s2*1 |")
		m.expire([]string{"s1"}).want(
			"ended s1 EXPIRED", "changed L1 data owners deleted", "changed L2 owners", "SUCCESS")
		m.wantLinks("L2", "s2*1 |")
		m.expire([]string{"s2"}).want("ended s2 EXPIRED", "changed L2 data owners deleted", "SUCCESS")
	})
}
