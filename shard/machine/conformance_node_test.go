package machine_test

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// lowerHalf is the first shard's slots in a cluster with two shards.
func lowerHalf() shard.SlotSet {
	var slots shard.SlotSet
	slots.Add(0, shard.Slots/2-1)
	return slots
}

func TestNodeIsSeenWithItsFirstSessionOrSemaphoreAndAgainAfterItsLast(t *testing.T) {
	play(t, func(m *scene) {
		m.create("sem", 1).want("node 1 seen", "SUCCESS", "changed sem created")
		m.startSession("s1").want("SUCCESS")
		m.delete("sem").want("changed sem data owners deleted", "SUCCESS")
		m.create("sem", 1).want("SUCCESS", "changed sem created")
		m.endSession("s1")
		m.delete("sem")
		m.startSession("s2").want("node 1 seen", "SUCCESS")
		m.create("sem", 1, inNode(2)).want("node 2 seen", "SUCCESS", "changed sem created")
	})
}

// TestNodesDoNotShareNames: nodes are isolated.
func TestNodesDoNotShareNames(t *testing.T) {
	play(t, func(m *scene) {
		m.create("sem", 1, data("one"))
		m.create("sem", 2, inNode(2), data("two")).want("node 2 seen", "SUCCESS", "changed sem created")
		m.wantData("sem", "one")
		m.delete("sem", inNode(2))
		m.wantData("sem", "one")
	})
}

func TestSessionOfAnotherNodeIsABadSession(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.create("sem", 1, inNode(2))
		m.acquire("s1", "sem", inNode(2)).want("BAD_SESSION")
		m.create("new", 1, m.by("s1"), inNode(2)).want("BAD_SESSION")
		m.release("s1", "sem", inNode(2)).want("BAD_SESSION")
	})
}

func TestWhatIsNotServedHereHasMoved(t *testing.T) {
	playServing(t, lowerHalf(), func(m *scene) {
		m.start("s1")
		m.remote("g1")
		away := m.name(false)
		m.create(away, 1).want("MOVED")
		m.update(away, "x").want("MOVED")
		m.delete(away).want("MOVED")
		m.acquire("s1", away, ephemeral).want("MOVED")
		m.release("s1", away).want("MOVED")
		m.startSession("s2", inSlot(shard.Slots/2)).want("MOVED")
		m.startSession("s2", inSlot(shard.Slots)).want("MOVED")
		m.updateSession("g1").want("MOVED")
		m.endSession("g1").want("MOVED")
		m.create("", 1).want("BAD_REQUEST") // the form is looked at first
	})
}

func TestRemoteSessionIsSeenWithItsFirstMutationHere(t *testing.T) {
	playServing(t, lowerHalf(), func(m *scene) {
		m.remote("g1")
		sem := m.name(true)
		m.acquire("g1", sem).want("node 1 seen", "seen g1", "NOT_FOUND")
		m.create(sem, 1).want("SUCCESS", "changed "+sem+" created")
		m.acquire("g1", sem).want("SUCCESS acquired order=1", "changed "+sem+" owners")
		if s := m.sessionState("g1"); s.Home || s.Node != homeNode || s.Applied != 2 {
			t.Errorf("the remote session is %+v", s)
		}
	})
}

func TestKnownRemoteSessionBelongsToOneNode(t *testing.T) {
	playServing(t, lowerHalf(), func(m *scene) {
		m.remote("g1")
		m.acquire("g1", m.name(true), ephemeral)
		for i := 0; ; i++ {
			name := string(rune('a' + i))
			if m.slots.Has(shard.SlotOf(2, []byte(name))) {
				m.acquire("g1", name, ephemeral, inNode(2)).want("BAD_SESSION")
				return
			}
		}
	})
}

func TestForgettingReleasesWhatRemoteSessionsHaveAndPassesOverHomeSessions(t *testing.T) {
	playServing(t, lowerHalf(), func(m *scene) {
		sem := m.name(true)
		m.start("s1")
		m.remote("g1")
		m.remote("g2")
		m.create(sem, 1)
		m.acquire("g1", sem).want("seen g1", "SUCCESS acquired order=1", "changed "+sem+" owners")
		m.acquire("s1", sem)
		m.forget("s1", "g2", "g1").want(
			"ended g1 UNKNOWN", "granted s1 "+sem+" order=2", "changed "+sem+" owners", "SUCCESS")
		m.wantLinks(sem, "s1*1 |")
		m.acquire("g1", sem).want("seen g1", "SUCCESS queued order=3")
	})
}

func TestExpiryPassesOverRemoteSessions(t *testing.T) {
	playServing(t, lowerHalf(), func(m *scene) {
		m.remote("g1")
		sem := m.name(true)
		m.acquire("g1", sem, ephemeral)
		m.expire([]string{"g1"}).want("SUCCESS")
		m.wantLinks(sem, "g1*1 |")
	})
}

// TestForgottenRemoteSessionStartsOver: a remote session forgotten too early starts over, because its earlier
// numbers are unknown.
func TestForgottenRemoteSessionStartsOver(t *testing.T) {
	playServing(t, lowerHalf(), func(m *scene) {
		m.remote("g1")
		sem := m.name(true)
		m.acquire("g1", sem, ephemeral, number(8))
		m.forget("g1").want("ended g1 UNKNOWN", "changed "+sem+" data owners deleted", "SUCCESS")
		m.acquire("g1", sem, ephemeral, number(3)).want(
			"node 1 seen", "seen g1", "SUCCESS acquired order=2", "changed "+sem+" created owners")
	})
}

func TestDropOfANodeGoesInStepsSemaphoresByNameThenSessionsByID(t *testing.T) {
	play(t, func(m *scene) {
		m.startSession("s2", inSlot(20))
		m.startSession("s1", inSlot(10))
		m.startSession("stranger", inNode(2))
		m.create("b", 1)
		m.acquire("s1", "b")
		m.acquire("s2", "b")
		m.acquire("s1", "c", ephemeral)
		m.create("a", 1)
		m.dropNode(1, 2).want(
			"changed a data owners deleted",
			"aborted DELETED s2 b order=2", "lost s1 b order=1", "changed b data owners deleted",
			"SUCCESS more",
		)
		m.dropNode(1, 2).want(
			"lost s1 c order=3", "changed c data owners deleted",
			"ended s1 NODE_DROPPED",
			"SUCCESS more",
		)
		m.dropNode(1, 2).want("ended s2 NODE_DROPPED", "SUCCESS")
		m.dropNode(1, 2).want("SUCCESS")
		if got := len(m.machine.State().Nodes); got != 1 {
			t.Errorf("%d nodes are known", got)
		}
		m.updateSession("stranger").want("SUCCESS")
		m.updateSession("s1").want("SESSION_EXPIRED")
	})
}

func TestNodeThatIsBeingDroppedTakesNothingNew(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("a", 1)
		m.create("b", 1)
		m.acquire("s1", "b")
		m.acquire("s2", "b")
		m.dropNode(1, 1).want("changed a data owners deleted", "SUCCESS more")
		m.create("a", 1).want("NOT_FOUND")
		m.update("b", "x").want("NOT_FOUND")
		m.delete("b", force).want("NOT_FOUND")
		m.acquire("s3", "b").want("NOT_FOUND")
		m.acquire("s3", "new", ephemeral).want("NOT_FOUND")
		m.release("s1", "b").want("NOT_FOUND")
		m.startSession("s4").want("NOT_FOUND")
		// Ended sessions keep ending.
		m.updateSession("s1").want("SUCCESS")
		m.endSession("s1").want("ended s1 STOPPED", "granted s2 b order=2", "changed b owners", "SUCCESS")
		m.expire([]string{"s2", "s3"}).want("ended s2 EXPIRED", "changed b owners", "ended s3 EXPIRED", "SUCCESS")
		m.dropNode(1, 1).want("changed b data owners deleted", "SUCCESS")
		m.startSession("s5").want("node 1 seen", "SUCCESS")
	})
}

func TestNodeWithNothingLeftIsForgottenByTheNextStepOnly(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.dropNode(1, 1).want("ended s1 NODE_DROPPED", "SUCCESS more")
		m.endSession("s2").want("ended s2 STOPPED", "SUCCESS")
		m.startSession("s3").want("NOT_FOUND")
		m.dropNode(1, 1).want("SUCCESS")
		m.startSession("s3").want("node 1 seen", "SUCCESS")
	})
}

func TestDropTakesOneToMaxListAtATime(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.dropNode(1, 0).want("BAD_REQUEST")
		m.dropNode(1, shard.MaxList+1).want("BAD_REQUEST")
		m.dropNode(9, shard.MaxList).want("SUCCESS") // the node is not known
		m.dropNode(1, shard.MaxList).want("ended s1 NODE_DROPPED", "SUCCESS")
	})
}

func TestOrderIDsRevisionsAndSessionIDsGoOnAfterADrop(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.acquire("s1", "L", ephemeral)
		before := m.machine.State()
		m.dropNode(1, 10)
		m.start("s2")
		m.acquire("s2", "L", ephemeral).want("SUCCESS acquired order=2", "changed L created owners")
		after := m.machine.State()
		if after.LastRevision != before.LastRevision+2 || m.id("s2").Counter() != 2 {
			t.Errorf("revision went from %d to %d, session is %v", before.LastRevision, after.LastRevision, m.id("s2"))
		}
	})
}
