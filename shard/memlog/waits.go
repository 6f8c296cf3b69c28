package memlog

import "time"

// waits is what a log has under way of one kind, oldest first. What is over stays in it until it
// comes to the front.
type waits[T waiting] struct {
	items []T
	count int  // of those that are not over
	armed bool // the timer is set
}

type waiting interface {
	// over tells that the outcome is decided.
	over() bool
	// due is when to give up on it.
	due() time.Duration
}

func (w *waits[T]) add(item T) {
	w.trim()
	w.items = append(w.items, item)
	w.count++
}

func (w *waits[T]) trim() {
	var none T
	for len(w.items) > 0 && w.items[0].over() {
		w.items[0] = none
		w.items = w.items[1:]
	}
}

// expire gives up on the oldest when it is due, and sees to it that this is called in time for the
// next. One timer serves all: in most cases everything is over long before.
func (w *waits[T]) expire(l *Log, giveUp func(T)) {
	w.trim()
	for len(w.items) > 0 && w.items[0].due() <= l.net.now {
		giveUp(w.items[0])
		w.trim()
	}
	if w.armed || len(w.items) == 0 {
		return
	}
	w.armed = true
	l.net.schedule(w.items[0].due()-l.net.now, event{host: l.host, log: l, anyway: true, run: func() {
		w.armed = false
		w.expire(l, giveUp)
	}})
}
