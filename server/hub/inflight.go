package hub

import "time"

// Snapshots are copied into the stream of each connection that gets them. When thousands of connections
// open a watch at the same moment, after a host was restarted, all those copies would be in memory at once.
// So only Options.FlightBytes are under way at a time, and other watches wait until those have been sent.

const (
	// flightTime is after which time a connection that does not take its part of them counts no more, so
	// that slow clients do not make the others wait. What it holds is bounded by Options.SlowBytes.
	inflightTime = time.Second
	// smallPages is how many pages that are not worth counting make one of Options.PageBytes.
	smallPages = 16
	// lookEvery is how often the worker looks at what has been sent, while watches wait.
	checkEvery = 5 * time.Millisecond
)

// mayPlanPage reports whether the next page of what the watch reads may be planned now.
func (wo *worker) mayPlanPage(w *watch) bool {
	s := w.reading
	return wo.inflightBytes < wo.hub.options.InflightBytes || s.dropped || wo.isSmall(s.at(w.page, w.wants).Size())
}

func (wo *worker) isSmall(bytes int) bool { return bytes <= wo.hub.options.PageBytes/smallPages }

// addInflight counts a page that was planned.
func (wo *worker) addInflight(l *subscriber, bytes int) {
	if wo.isSmall(bytes) {
		return
	}
	if l.inflightPlace == 0 {
		wo.inflight = append(wo.inflight, l)
		l.inflightPlace = len(wo.inflight)
	}
	l.inflightBytes += bytes
	l.inflightSince = wo.now
	wo.inflightBytes += bytes
	wo.grew = true
}

// planWaiting looks at what has been sent, and gives watches that wait their turn.
func (wo *worker) planWaiting() {
	wo.grew = false
	if wo.waiting.Len() == 0 {
		return
	}
	for i := len(wo.inflight) - 1; i >= 0; i-- { // land changes what is behind the place
		l := wo.inflight[i]
		left := min(l.inflightBytes, l.sink.Pending())
		if left == 0 || wo.now.Sub(l.inflightSince) >= inflightTime {
			wo.removeInflight(l)
			continue
		}
		wo.inflightBytes -= l.inflightBytes - left
		l.inflightBytes = left
	}
	for wo.waiting.Len() > 0 && wo.inflightBytes < wo.hub.options.InflightBytes && wo.spent <= planBytes {
		w := wo.waiting.Front().Value.(*watch)
		wo.release(w)
		wo.planWatch(w)
	}
}

// removeInflight: land counts nothing any more of a connection that has taken all, takes too long, or is gone.
func (wo *worker) removeInflight(l *subscriber) {
	if l.inflightPlace == 0 {
		return
	}
	wo.inflightBytes -= l.inflightBytes
	last := len(wo.inflight) - 1
	moved := wo.inflight[last]
	wo.inflight[l.inflightPlace-1], moved.inflightPlace = moved, l.inflightPlace
	wo.inflight[last] = nil
	wo.inflight = wo.inflight[:last]
	l.inflightBytes, l.inflightPlace = 0, 0
}
