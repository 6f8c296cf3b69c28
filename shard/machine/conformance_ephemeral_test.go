package machine_test

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// TestFirstAcquireMakesAnEphemeralSemaphore: even a try does.
func TestFirstAcquireMakesAnEphemeralSemaphore(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1")
		m.acquire("s1", "L", ephemeral, count(all), try, data("mine")).want(
			"SUCCESS acquired order=1", "changed L created owners")
		m.wantLinks("L", "s1*all |")
		m.wantData("L", "")
		if sem := m.semaphore("L"); !sem.Ephemeral || sem.Limit != shard.Forever {
			t.Errorf("ephemeral %v, limit %d", sem.Ephemeral, sem.Limit)
		}
	})
}

func TestSharedHoldersOfAnEphemeralSemaphoreOwnItTogether(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.acquire("s1", "L", ephemeral)
		m.acquire("s2", "L", ephemeral).want("SUCCESS acquired order=2", "changed L owners")
		m.wantLinks("L", "s1*1 s2*1 |")
	})
}

func TestEphemeralSemaphoreStaysWhileASessionWaits(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.acquire("s1", "L", ephemeral, count(all))
		m.acquire("s2", "L", ephemeral)
		m.release("s1", "L").want("SUCCESS released", "granted s2 L order=2", "changed L owners")
		m.wantLinks("L", "s2*1 |")
	})
}

func TestExclusiveOwnerThatSharesLetsTheOthersIn(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.acquire("s1", "L", ephemeral, count(all))
		m.acquire("s2", "L", ephemeral)
		m.acquire("s1", "L", ephemeral).want("SUCCESS acquired order=1", "granted s2 L order=2", "changed L owners")
		m.wantLinks("L", "s1*1 s2*1 |")
	})
}

// TestAcquireMustSayEphemeralAsTheSemaphoreIs: a mismatch is refused.
func TestAcquireMustSayEphemeralAsTheSemaphoreIs(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2", "s3")
		m.create("sem", 1)
		m.acquire("s1", "L", ephemeral, count(all))
		m.acquire("s2", "L", ephemeral)
		m.acquire("s1", "L").want("PRECONDITION_FAILED")
		m.acquire("s2", "L").want("PRECONDITION_FAILED")
		m.acquire("s3", "L").want("PRECONDITION_FAILED")
		m.acquire("s1", "sem", ephemeral).want("PRECONDITION_FAILED")
		m.acquire("s1", "sem", ephemeral, count(5)).want("PRECONDITION_FAILED") // before the count is looked at
		m.wantLinks("L", "s1*all | s2*1")
	})
}

// TestEphemeralSemaphoreGoesWithItsLastHolder: it is deleted with its last link, however that ends.
func TestEphemeralSemaphoreGoesWithItsLastHolder(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.acquire("s1", "L", ephemeral)
		m.acquire("s2", "L", ephemeral)
		m.release("s1", "L").want("SUCCESS released", "changed L owners")
		m.release("s2", "L").want("SUCCESS released", "changed L data owners deleted")
		m.wantLinks("L", "none")
		m.acquire("s1", "L", ephemeral)
		m.expire([]string{"s1"}).want("ended s1 EXPIRED", "changed L data owners deleted", "SUCCESS")
		m.wantLinks("L", "none")
	})
}

// TestOrderIDsAndRevisionsNeverGoBackThroughTheEndOfAnEphemeralSemaphore: DESIGN.md section 6.
func TestOrderIDsAndRevisionsNeverGoBackThroughTheEndOfAnEphemeralSemaphore(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.acquire("s1", "L", ephemeral).want("SUCCESS acquired order=1", "changed L created owners")
		revision := m.semaphore("L").Revision
		m.release("s1", "L")
		m.acquire("s2", "L", ephemeral).want("SUCCESS acquired order=2", "changed L created owners")
		if got := m.semaphore("L").Revision; got <= revision+1 {
			t.Errorf("revision went from %d over one for its end to %d", revision, got)
		}
		m.release("s1", "L", guard(1)).want("FENCED")
		m.restart()
		m.release("s2", "L", guard(2)).want("SUCCESS released", "changed L data owners deleted")
		m.acquire("s1", "L", ephemeral).want("SUCCESS acquired order=3", "changed L created owners")
	})
}

// TestEphemeralSemaphoreSurvivesANewLeader: with its owners.
func TestEphemeralSemaphoreSurvivesANewLeader(t *testing.T) {
	play(t, func(m *scene) {
		m.start("s1", "s2")
		m.acquire("s1", "L", ephemeral, count(all))
		m.acquire("s2", "L", ephemeral)
		m.update("L", "x")
		m.restart()
		m.wantLinks("L", "s1*all | s2*1")
		m.wantData("L", "x")
		m.release("s1", "L").want("SUCCESS released", "granted s2 L order=2", "changed L owners")
	})
}
