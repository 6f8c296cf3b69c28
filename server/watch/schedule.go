package watch

import (
	"time"

	"github.com/signalbox/signalbox/shard"
)

// The functions below are called with Hub.mu held.

// mark records that an object changed, and passes the object to the worker: now, or at the end of its rest.
func (h *Hub) mark(x *object, flags shard.EffectFlags, now time.Time) {
	x.flags |= flags
	if x.stage != objectQuiet {
		return
	}
	if now.Before(x.next) {
		x.stage = objectResting
		h.resting.Push(x)
		h.arm()
		return
	}
	h.makeReady(x)
}

func (h *Hub) makeReady(x *object) {
	x.stage = objectReady
	h.ready = append(h.ready, x)
}

// arm sets the timer for the earliest rest or check.
func (h *Hub) arm() {
	due := h.checkAt
	if len(h.resting.Items) > 0 {
		if next := h.resting.First().next; due.IsZero() || next.Before(due) {
			due = next
		}
	}
	if due.IsZero() || h.closed || !h.timerAt.IsZero() && !due.Before(h.timerAt) {
		return
	}
	h.timerAt = due
	if h.timer == nil {
		h.timer = time.AfterFunc(time.Until(due), h.onTimer)
		return
	}
	h.timer.Reset(time.Until(due))
}

// onTimer is called by the timer. The call may be early or unnecessary.
func (h *Hub) onTimer() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timerAt = time.Time{}
	now := time.Now()
	for len(h.resting.Items) > 0 && !h.resting.First().next.After(now) {
		x := h.resting.First()
		h.resting.Remove(x.rests)
		h.makeReady(x)
	}
	if !h.checkAt.IsZero() && !h.checkAt.After(now) {
		h.checkAt, h.checking = time.Time{}, true
	}
	if h.checking || len(h.ready) > 0 {
		h.wake()
	}
	h.arm()
}

// wake starts the worker if it is not running.
func (h *Hub) wake() {
	if h.running || h.closed {
		return
	}
	h.running = true
	go h.worker.run()
}
