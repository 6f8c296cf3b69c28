package ydb_test

import (
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Coordination"
)

// TestTheOrderOfMessages: an operation's messages come in YDB's order. If the caller also watches the semaphore, the
// result comes before the change, except for a delete, with its result last.
func TestTheOrderOfMessages(t *testing.T) {
	for name, play := range map[string]func(t *testing.T, a, b, c *caller){
		"update":          updatesWhatItWatches,
		"acquire":         acquiresWhatItWatches,
		"release":         releasesWhatItWatches,
		"release of wait": leavesTheQueue,
		"timeout":         isLeftInTheQueue,
		"acquire of less": asksForLess,
		"delete":          deletesWhatItWatches,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1)
			r.create()
			a, b, c := r.session(start{}), r.session(start{}), r.session(start{})
			a.createSemaphore("sem", 3, "one", ok)
			play(t, a, b, c)
		})
	}
}

func updatesWhatItWatches(t *testing.T, a, _, _ *caller) {
	t.Helper()
	watch := a.watch("sem")
	a.updateSemaphore("sem", "two", ok)
	a.changed(watch, true, false)
}

// acquiresWhatItWatches: a smaller acquire lets others in before the change is reported.
func acquiresWhatItWatches(t *testing.T, a, b, _ *caller) {
	t.Helper()
	watch := a.watch("sem")
	a.acquired(a.acquire("sem", 3, 0, false), true, ok)
	a.changed(watch, false, true)
	waits := b.acquire("sem", 2, time.Hour, false)
	b.pending(waits)
	watch, watchOfB := a.watch("sem"), b.watch("sem")
	a.acquired(a.acquire("sem", 1, 0, false), true, ok)
	a.changed(watch, false, true)
	b.acquired(waits, true, ok)
	b.changed(watchOfB, false, true)
}

func releasesWhatItWatches(t *testing.T, a, b, _ *caller) {
	t.Helper()
	a.acquired(a.acquire("sem", 3, 0, false), true, ok)
	waits := b.acquire("sem", 2, time.Hour, false)
	b.pending(waits)
	watch, watchOfB := a.watch("sem"), b.watch("sem")
	a.released(a.release("sem"), true)
	a.changed(watch, false, true)
	b.acquired(waits, true, ok)
	b.changed(watchOfB, false, true)
}

// queue has a waiter a at the head and c behind it, for free units: c enters when a stops waiting.
func queue(t *testing.T, a, b, c *caller, timeout time.Duration) (waits, behind, watch, watchOfC uint64) {
	t.Helper()
	b.acquired(b.acquire("sem", 2, 0, false), true, ok)
	waits = a.acquire("sem", 3, timeout, false)
	a.pending(waits)
	behind = c.acquire("sem", 1, time.Hour, false)
	c.pending(behind)
	return waits, behind, a.watch("sem"), c.watch("sem")
}

func leavesTheQueue(t *testing.T, a, b, c *caller) {
	t.Helper()
	waits, behind, watch, watchOfC := queue(t, a, b, c, time.Hour)
	released := a.release("sem")
	a.acquired(waits, false, Ydb.StatusIds_ABORTED)
	a.released(released, true)
	a.changed(watch, false, true)
	c.acquired(behind, true, ok)
	c.changed(watchOfC, false, true)
}

func isLeftInTheQueue(t *testing.T, a, b, c *caller) {
	t.Helper()
	waits, behind, watch, watchOfC := queue(t, a, b, c, 5*time.Second)
	a.acquired(waits, false, ok)
	a.changed(watch, false, true)
	c.acquired(behind, true, ok)
	c.changed(watchOfC, false, true)
}

// asksForLess: the smaller request fits and is granted; the larger one had no answer before.
func asksForLess(t *testing.T, a, b, c *caller) {
	t.Helper()
	waits, _, watch, _ := queue(t, a, b, c, time.Hour)
	less := a.acquire("sem", 1, time.Hour, false)
	a.acquired(waits, false, Ydb.StatusIds_ABORTED)
	a.acquired(less, true, ok)
	a.changed(watch, false, true)
}

func deletesWhatItWatches(t *testing.T, a, b, _ *caller) {
	t.Helper()
	b.acquired(b.acquire("sem", 3, 0, false), true, ok)
	waits := a.acquire("sem", 1, time.Hour, false)
	a.pending(waits)
	watch := a.watch("sem")
	a.last++
	a.send(&request{Request: &Ydb_Coordination.SessionRequest_DeleteSemaphore_{
		DeleteSemaphore: &Ydb_Coordination.SessionRequest_DeleteSemaphore{ReqId: a.last, Name: "sem", Force: true},
	}})
	a.acquired(waits, false, Ydb.StatusIds_ABORTED)
	a.changed(watch, true, true)
	if m := a.next(); m.GetDeleteSemaphoreResult().GetReqId() != a.last ||
		m.GetDeleteSemaphoreResult().GetStatus() != ok {
		t.Errorf("got %v, want the result of the delete", m)
	}
}

// watch describes the semaphore and leaves a watch.
func (c *caller) watch(name string) (id uint64) {
	c.t.Helper()
	id = c.describe(name, true)
	if d := c.described(id); !d.WatchAdded {
		c.t.Fatalf("it is %v", d)
	}
	return id
}
