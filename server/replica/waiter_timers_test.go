package replica

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// applyCommand has the shard carry out a command, and returns its result when all that it brought about is done.
func applyCommand(t *testing.T, r *Replica, c shard.Command) shard.Effect {
	t.Helper()
	results := make(chan shard.Effect, 1)
	done := func(e *shard.Effect, failed protocol.Status) {
		if e == nil {
			e = &shard.Effect{Status: failed}
		}
		results <- *e
	}
	if !r.Pipeline.Add(pipeline.Op{Done: done}, &c) {
		t.Fatal("the queue is full")
	}
	r.Pipeline.Flush()
	e := <-results
	if e.Status != protocol.StatusSuccess {
		t.Fatalf("%v: %v", c.Kind, e.Status)
	}
	return e
}

// lockQueue is a lock of one session that others wait for.
type lockQueue struct {
	t       *testing.T
	r       *Replica
	numbers map[shard.SessionID]uint64
}

func newQueue(t *testing.T) *lockQueue {
	h := openSet(t, 1)
	t.Cleanup(h.Close)
	q := &lockQueue{t: t, r: h.Replicas[0], numbers: map[shard.SessionID]uint64{}}
	applyCommand(t, q.r, shard.Command{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("lock"), Count: 2})
	return q
}

func (q *lockQueue) session() shard.SessionID {
	q.t.Helper()
	return applyCommand(q.t, q.r, shard.Command{
		Kind: shard.CmdSessionCreate, Slot: someSlot(q.r), Node: 1, Timeout: 600_000, Key: []byte("key"),
	}).Session
}

func (q *lockQueue) acquire(id shard.SessionID, count uint64, timeout time.Duration) shard.Effect {
	q.t.Helper()
	q.numbers[id]++
	return applyCommand(q.t, q.r, shard.Command{
		Kind: shard.CmdAcquire, Session: id, Number: q.numbers[id], Node: 1, Name: []byte("lock"), Count: count,
		Timeout: uint64(timeout.Milliseconds()),
	})
}

func (q *lockQueue) release(id shard.SessionID) {
	q.t.Helper()
	q.numbers[id]++
	applyCommand(q.t, q.r, shard.Command{
		Kind: shard.CmdRelease, Session: id, Number: q.numbers[id], Node: 1, Name: []byte("lock"),
	})
}

func (q *lockQueue) wantTimers(when string, want int) {
	q.t.Helper()
	q.r.mu.Lock()
	defer q.r.mu.Unlock()
	timers := &q.r.waits.timers
	chained := 0
	for _, w := range timers.first {
		for ; w != nil; w = w.next {
			chained++
		}
	}
	if len(timers.heap.Items) != want || len(timers.byOrder) != want || chained != want {
		q.t.Fatalf("%s: %d timers, %d by order and %d by session; want %d",
			when, len(timers.heap.Items), len(timers.byOrder), chained, want)
	}
}

func TestTheTimersOfASessionEndWithIt(t *testing.T) {
	const sessions, long = 500, 24 * time.Hour
	q := newQueue(t)
	owner := q.session()
	q.acquire(owner, 2, 0)
	ids := make([]shard.SessionID, sessions)
	for i := range ids {
		ids[i] = q.session()
		q.acquire(ids[i], 1, long)
	}
	q.wantTimers("all wait", sessions)
	for _, id := range ids[:sessions/2] {
		applyCommand(t, q.r, shard.Command{Kind: shard.CmdSessionEnd, Session: id})
	}
	q.wantTimers("half of the sessions were stopped", sessions/2)
	applyCommand(t, q.r, shard.Command{
		Kind: shard.CmdSessionsExpire, Term: q.r.Machine.Term(), Sessions: ids[sessions/2:],
	})
	q.wantTimers("the others have expired", 0)
}

func TestAWaiterThatLeavesTheQueueByItselfLeavesNoTimer(t *testing.T) {
	q := newQueue(t)
	owner, waiter := q.session(), q.session()
	q.acquire(owner, 1, 0)
	q.acquire(waiter, 2, time.Hour)
	q.wantTimers("it waits", 1)
	q.acquire(waiter, 2, 2*time.Hour)
	q.wantTimers("it waits anew", 1)
	if e := q.acquire(waiter, 1, time.Hour); e.Flags&shard.FlagAcquired == 0 {
		t.Fatalf("it asks for what is left, and gets %+v", e)
	}
	q.wantTimers("it was granted what it asked for in place of what it waited for", 0)
	q.release(waiter)
	q.acquire(waiter, 2, time.Hour)
	q.release(waiter)
	q.wantTimers("it waits no more", 0)
	q.acquire(waiter, 2, time.Hour)
	q.acquire(waiter, 2, 0)
	q.wantTimers("it asked for what is there at once", 0)
	q.acquire(waiter, 2, time.Millisecond)
	for late := time.Now().Add(patience); q.r.Machine.Count().Waiters > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("it waits for ever")
		}
	}
	q.release(waiter) // through the log, so after all that its timeout brought about
	q.wantTimers("its time was up", 0)
}

// TestANewLeaderStartsNoTimerForAWaiterThatHasGone: a waiter that goes between the look at the machine and the start of
// its timer has no timer.
func TestANewLeaderStartsNoTimerForAWaiterThatHasGone(t *testing.T) {
	q := newQueue(t)
	stays := semaphore.Waiter{WaiterRef: shard.WaiterRef{Session: 1, Order: 1}, Timeout: 60_000}
	goes := semaphore.Waiter{WaiterRef: shard.WaiterRef{Session: 2, Order: 2}, Timeout: 60_000}
	looks := 0
	q.r.waits.restoreTimers(func(_ shard.Cursor, fn func(semaphore.Waiter)) (shard.Cursor, bool) {
		fn(stays)
		if looks++; looks == 1 {
			fn(goes)
		}
		return 0, true
	}, time.Now())
	q.wantTimers("one waits", 1)
	if q.r.waits.timers.byOrder[keyOf(&stays.WaiterRef)] == nil {
		t.Fatal("the timer of the other was stopped")
	}
}

// TestTimersAreThoseThatWereStartedAndNotStopped: the naive form of timers is a map.
func TestTimersAreThoseThatWereStartedAndNotStopped(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var timers waiterTimers
	timers.init()
	naive := map[waiterKey]waiterTimer{}
	now := time.Now()
	for step := range 20_000 {
		order := shard.OrderID(1 + random.IntN(10))
		session := shard.SessionID(1 + random.IntN(7)) // of several shards: an order id comes again
		key := waiterKey{session, order}
		switch random.IntN(8) {
		case 0, 1, 2, 3:
			ref, at := shard.WaiterRef{Session: session, Order: order}, now.Add(time.Duration(random.IntN(1000)))
			timers.add(ref, at)
			naive[key] = waiterTimer{ref: ref, at: at}
		case 4, 5:
			timers.remove(key)
			delete(naive, key)
		case 6:
			timers.drop(session)
			for o, w := range naive {
				if w.ref.Session == session {
					delete(naive, o)
				}
			}
		case 7:
			now = now.Add(time.Duration(random.IntN(300)))
			for _, ref := range timers.due(now, 3) {
				if naive[keyOf(&ref)].at.After(now) {
					t.Fatalf("step %d: %v is not due", step, ref.Order)
				}
				delete(naive, keyOf(&ref))
			}
		}
		chained := 0
		for _, w := range timers.first {
			for ; w != nil; w = w.next {
				chained++
			}
		}
		if len(timers.heap.Items) != len(naive) || len(timers.byOrder) != len(naive) || chained != len(naive) {
			t.Fatalf("step %d: %d timers, %d by order and %d by session; want %d",
				step, len(timers.heap.Items), len(timers.byOrder), chained, len(naive))
		}
	}
}
