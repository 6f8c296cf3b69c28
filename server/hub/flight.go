package hub

import "time"

// Snapshots are copied into the stream of each connection that gets them. When thousands of connections
// open a watch at the same moment, after a host was restarted, all those copies would be in memory at once.
// So only Options.FlightBytes are under way at a time, and other watches wait until those have been sent.

const (
	// flightTime is after which time a connection that does not take its part of them counts no more, so
	// that slow clients do not make the others wait. What it holds is bounded by Options.SlowBytes.
	flightTime = time.Second
	// smallPages is how many pages that are not worth counting make one of Options.PageBytes.
	smallPages = 16
	// lookEvery is how often the worker looks at what has been sent, while watches wait.
	lookEvery = 5 * time.Millisecond
)

// mayFly tells whether the next page of what the watch reads may be planned now.
func (k *worker) mayFly(w *watch) bool {
	s := w.reading
	return k.flown < k.hub.options.FlightBytes || s.dropped || k.isSmall(s.at(w.page, w.wants).Size())
}

func (k *worker) isSmall(bytes int) bool { return bytes <= k.hub.options.PageBytes/smallPages }

// fly counts a page that was planned.
func (k *worker) fly(l *link, bytes int) {
	if k.isSmall(bytes) {
		return
	}
	if l.flight == 0 {
		k.flying = append(k.flying, l)
		l.flight = len(k.flying)
	}
	l.flying += bytes
	l.flew = k.now
	k.flown += bytes
	k.flew = true
}

// admit looks at what has been sent, and gives watches that wait their turn.
func (k *worker) admit() {
	k.flew = false
	if k.turns.Len() == 0 {
		return
	}
	for i := len(k.flying) - 1; i >= 0; i-- { // land changes what is behind the place
		l := k.flying[i]
		left := min(l.flying, l.sink.Pending())
		if left == 0 || k.now.Sub(l.flew) >= flightTime {
			k.land(l)
			continue
		}
		k.flown -= l.flying - left
		l.flying = left
	}
	for k.turns.Len() > 0 && k.flown < k.hub.options.FlightBytes && k.spent <= planBytes {
		w := k.turns.Front().Value.(*watch)
		k.release(w)
		k.attend(w)
	}
}

// land counts nothing any more of a connection that has taken all, takes too long, or is gone.
func (k *worker) land(l *link) {
	if l.flight == 0 {
		return
	}
	k.flown -= l.flying
	last := len(k.flying) - 1
	moved := k.flying[last]
	k.flying[l.flight-1], moved.flight = moved, l.flight
	k.flying[last] = nil
	k.flying = k.flying[:last]
	l.flying, l.flight = 0, 0
}
