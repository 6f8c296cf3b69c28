package lease_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

func TestASessionIsDueItsTimeoutAfterItsConnectionWent(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, 30*second, h)
	st.started(2, 40*second, h)
	st.pass(20 * second)
	h.Heard(st.now)
	st.pass(5 * second)
	h.Close(st.now)
	st.dueAt(55*second, 1)
	st.dueAt(65*second, 2)
}

func TestTimeoutZeroEndsWithItsConnectionAndNotWithSilence(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, 0, h)
	st.started(2, 5*second, h)
	st.pass(time.Hour)
	st.due(2)
	st.pass(time.Hour)
	st.due()
	h.Close(st.now)
	st.due(1)
}

func TestASilentHolderLosesEachSessionAtItsOwnTimeout(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	for n, timeout := range []time.Duration{40, 10, 30, 10, 20, 0} {
		st.started(uint64(n+1), timeout*second, h)
	}
	st.pass(7 * second)
	h.Heard(st.now)
	st.dueAt(17*second, 2, 4)
	st.dueAt(27*second, 5)
	st.now = start.Add(36 * second)
	h.Heard(st.now)
	st.dueAt(66*second, 3)
	st.dueAt(76*second, 1)
}

func TestAHolderThatIsHeardLosesNothing(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, 3*second, h)
	for range 1000 {
		st.pass(3*second - 1)
		h.Heard(st.now)
		st.due()
	}
}

func TestASessionThatIsDueSaysWhoHeldIt(t *testing.T) {
	st := newStage(t)
	silent, gone := lease.NewHolder(st.now), lease.NewHolder(st.now)
	st.started(1, second, silent)
	st.started(2, second, gone)
	gone.Close(st.now)
	st.pass(second)
	for _, e := range st.due(1, 2) {
		if want := map[shard.SessionID]*lease.Holder{id(1): silent}[e.Session]; e.Holder != want {
			t.Errorf("%v: holder %p; want %p", e.Session, e.Holder, want)
		}
	}
}

func TestASessionIsDueOnce(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, second, h)
	h.Close(st.now)
	st.pass(second)
	st.due(1)
	st.pass(time.Hour)
	st.due()
}

func TestAReturnInTimeBeginsTheTimeoutAnew(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, 10*second, h)
	h.Close(st.now)
	st.pass(9 * second)
	back := lease.NewHolder(st.now)
	st.attaches(1, back, 0, lease.Attached)
	st.pass(second)
	st.due()
	back.Close(st.now)
	st.dueAt(20*second, 1)
}

func TestAChangedTimeoutHoldsFromThenOn(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to time.Duration
		close    bool
		want     time.Duration
	}{
		{"shorter, attached", 60, 5, false, 9},
		{"shorter, detached", 60, 5, true, 9},
		{"longer, attached", 10, 60, false, 64},
		{"longer, detached", 10, 60, true, 64},
		{"from zero, attached", 0, 5, false, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newStage(t)
			h := lease.NewHolder(st.now)
			st.started(2, 20*second, h)
			st.started(1, c.from*second, h)
			if c.close {
				h.Close(st.now)
			}
			st.pass(4 * second)
			st.SetTimeout(id(1), c.to*second, st.now)
			if st.now = start.Add(20 * second); c.want < 20 {
				st.dueAt(c.want*second, 1)
				return
			}
			st.due(2)
			st.dueAt(c.want*second, 1)
		})
	}
}

func TestDueGivesNoMoreThanAskedFor(t *testing.T) {
	st := newStage(t)
	silent, gone := lease.NewHolder(st.now), lease.NewHolder(st.now)
	for n := range uint64(10) {
		st.started(n+1, second, silent)
		st.started(n+11, second, gone)
	}
	gone.Close(st.now)
	st.pass(second)
	total := 0
	for st.Next(st.now) == 0 {
		some, _ := st.Due(st.now, 3, nil)
		n := len(some)
		if n == 0 || n > 3 {
			t.Fatalf("%d at once", n)
		}
		total += n
	}
	if total != 20 {
		t.Fatalf("%d sessions were due; want 20", total)
	}
}

func TestNextTellsWhenSomethingMayBeDue(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	if got := st.Next(st.now); got != 6*time.Hour {
		t.Errorf("with nothing to wait for: %v; want a quarter of the stall limit", got)
	}
	st.started(1, 30*second, h)
	st.pass(second)
	if got := st.Next(st.now); got != 29*second {
		t.Errorf("attached: %v; want 29 s", got)
	}
	h.Close(st.now)
	if got := st.Next(st.now); got != 30*second {
		t.Errorf("detached: %v; want 30 s", got)
	}
	st.pass(31 * second)
	if got := st.Next(st.now); got != 0 {
		t.Errorf("due: %v; want 0", got)
	}
	if st.due(1); st.Next(st.now) == 0 {
		t.Errorf("expiring: Next says that more is due")
	}
}

func TestADroppedProposalLeavesTheSessionAttachable(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, second, h)
	st.started(2, second, h)
	st.pass(second)
	st.due(1, 2)
	st.attaches(1, h, 0, lease.Expiring)
	st.Dropped(st.by(), []shard.SessionID{id(1), id(2), id(3)}, st.now)
	st.attaches(1, h, 0, lease.Attached)
	st.dueAt(second+lease.RetryAfter, 2)
	st.pass(second)
	st.due(1)
}

func TestASessionWhoseEndIsUndecidedIsNeverAttachableAgain(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, second, h)
	st.pass(second)
	st.due(1)
	st.Undecided(st.by(), []shard.SessionID{id(1)}, st.now)
	st.attaches(1, h, 0, lease.Expiring)
	st.dueAt(second+lease.RetryAfter, 1)
	st.Dropped(st.by(), []shard.SessionID{id(1)}, st.now)
	st.attaches(1, h, 0, lease.Expiring)
	st.dueAt(second+2*lease.RetryAfter, 1)
	if c := st.Counts(); c.Expiring != 1 || c.Detached != 0 {
		t.Errorf("%+v; want one expiring", c)
	}
	st.Remove(id(1))
	st.attaches(1, h, 0, lease.Unknown)
	if c := st.Counts(); c != (lease.Counts{Expired: 1}) {
		t.Errorf("%+v; want nothing but one expired", c)
	}
}
