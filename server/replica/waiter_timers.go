package replica

import (
	"time"

	"github.com/signalbox/signalbox/internal/heap"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// waiterTimers are the deadlines of waiters: by time, and by session and order id; the deadlines of one session are
// chained. Order ids of two shards may be equal, and slots move between shards; but a session never has two links of
// one order id.
type waiterTimers struct {
	heap    heap.Heap[*waiterTimer, timerOrder]
	byOrder map[waiterKey]*waiterTimer
	first   map[shard.SessionID]*waiterTimer
}

type waiterKey struct {
	session shard.SessionID
	order   shard.OrderID
}

func keyOf(ref *shard.WaiterRef) waiterKey { return waiterKey{ref.Session, ref.Order} }

type waiterTimer struct {
	ref        shard.WaiterRef
	at         time.Time
	place      int
	next, prev *waiterTimer // of the same session
}

func (wt *waiterTimers) init() {
	wt.heap.Items = nil
	wt.byOrder = make(map[waiterKey]*waiterTimer)
	wt.first = make(map[shard.SessionID]*waiterTimer)
}

// add starts a timer, in place of an earlier timer of the waiter.
func (wt *waiterTimers) add(ref shard.WaiterRef, at time.Time) {
	wt.remove(keyOf(&ref))
	w := &waiterTimer{ref: ref, at: at, next: wt.first[ref.Session]}
	if w.next != nil {
		w.next.prev = w
	}
	wt.byOrder[keyOf(&ref)], wt.first[ref.Session] = w, w
	wt.heap.Push(w)
}

func (wt *waiterTimers) remove(key waiterKey) {
	if w := wt.byOrder[key]; w != nil {
		wt.unlink(w)
		wt.heap.Remove(w.place)
	}
}

// drop removes the timers of a session.
func (wt *waiterTimers) drop(id shard.SessionID) {
	for w := wt.first[id]; w != nil; w = w.next {
		wt.remove(keyOf(&w.ref))
	}
}

// unlink removes a timer from everything but the heap.
func (wt *waiterTimers) unlink(w *waiterTimer) {
	delete(wt.byOrder, keyOf(&w.ref))
	if w.next != nil {
		w.next.prev = w.prev
	}
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case w.next != nil:
		wt.first[w.ref.Session] = w.next
	default:
		delete(wt.first, w.ref.Session)
	}
}

// due takes up to max waiters whose time is up.
func (wt *waiterTimers) due(now time.Time, max int) []shard.WaiterRef {
	var out []shard.WaiterRef
	for len(wt.heap.Items) > 0 && len(out) < max && !wt.heap.First().at.After(now) {
		w := wt.heap.First()
		wt.unlink(w)
		wt.heap.Remove(w.place)
		out = append(out, w.ref)
	}
	return out
}

// timerOrder orders timers by their deadlines.
type timerOrder struct{}

func (timerOrder) Before(a, b *waiterTimer) bool { return a.at.Before(b.at) }
func (timerOrder) Placed(w *waiterTimer, at int) { w.place = at }

// restoreTimers gives every waiter of the machine its full time again: this host has begun to lead the shard. Waiters
// come and go meanwhile. A waiter that is gone before its timer starts is missing in a second walk, and the walk
// stops the timer; a waiter that goes later stops the timer itself.
func (wa *waits) restoreTimers(walk func(shard.Cursor, func(semaphore.Waiter)) (shard.Cursor, bool), now time.Time) {
	for at, over := shard.Cursor(0), false; !over; {
		var page []semaphore.Waiter
		from := at
		at, over = walk(from, func(w semaphore.Waiter) { page = append(page, w) })
		gone := make(map[waiterKey]bool)
		wa.r.mu.Lock()
		for _, w := range page {
			if key := keyOf(&w.WaiterRef); wa.timers.byOrder[key] == nil {
				wa.timers.add(w.WaiterRef, now.Add(millis(w.Timeout)))
				gone[key] = true
			}
		}
		wa.r.mu.Unlock()
		walk(from, func(w semaphore.Waiter) { delete(gone, keyOf(&w.WaiterRef)) })
		wa.r.mu.Lock()
		for key := range gone {
			wa.timers.remove(key)
		}
		wa.r.mu.Unlock()
	}
}
