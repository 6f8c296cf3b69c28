package watch

import "time"

// Snapshots are copied into the stream of each connection that gets them. When thousands of connections open a watch
// at the same moment, after a restart of a host, all the copies would be in memory at once. So only
// Options.InflightBytes of snapshots are under way at a time, and further watches wait until the connections have
// sent theirs.

const (
	// inflightTime is how long a connection may hold bytes of snapshots without a new page before the bytes count no
	// more, so that slow clients do not make other clients wait. Options.SlowBytes bounds the bytes of such a
	// connection.
	inflightTime = time.Second
	// smallPages is how many pages make one of Options.PageBytes when each page is too small to count.
	smallPages = 16
	// burstBytes is how many bytes of snapshots are planned from one check to the next. The event loops write the
	// bytes, and requests to the same loops wait meanwhile: for 100 ms if all of InflightBytes is planned at once.
	burstBytes = 1 << 20
	// checkEvery is how often the worker checks, while watches wait, how much has been sent.
	checkEvery = 5 * time.Millisecond
)

// mayPlanPage reports whether the next page of the snapshot that the watch reads may be planned now.
func (wo *worker) mayPlanPage(w *watch) bool {
	s := w.reading
	return wo.mayPlanSnapshots() || s.dropped || wo.isSmall(s.at(w.page, w.wants).Size())
}

// mayPlanSnapshots reports whether further pages of snapshots may be planned now.
func (wo *worker) mayPlanSnapshots() bool {
	if wo.now.Sub(wo.burstSince) >= checkEvery {
		wo.burst, wo.burstSince = 0, wo.now
	}
	return wo.burst < burstBytes && wo.inflightBytes < wo.hub.options.InflightBytes
}

func (wo *worker) isSmall(bytes int) bool { return bytes <= wo.hub.options.PageBytes/smallPages }

// addInflight counts a page that was planned.
func (wo *worker) addInflight(sub *subscriber, bytes int) {
	if wo.isSmall(bytes) {
		return
	}
	if sub.inflightPlace == 0 {
		wo.inflight = append(wo.inflight, sub)
		sub.inflightPlace = len(wo.inflight)
	}
	sub.inflightBytes += bytes
	sub.inflightSince = wo.now
	wo.inflightBytes += bytes
	wo.burst += bytes
	wo.grew = true
}

// planWaiting checks how much of the snapshots has been sent, and plans as many waiting watches as there is room for.
func (wo *worker) planWaiting() {
	wo.grew = false
	if wo.waiting.Len() == 0 {
		return
	}
	for i := len(wo.inflight) - 1; i >= 0; i-- { // removeInflight moves the last entry to place i
		sub := wo.inflight[i]
		left := min(sub.inflightBytes, sub.sink.Pending())
		if left == 0 || wo.now.Sub(sub.inflightSince) >= inflightTime {
			wo.removeInflight(sub)
			continue
		}
		wo.inflightBytes -= sub.inflightBytes - left
		sub.inflightBytes = left
	}
	for wo.waiting.Len() > 0 && wo.mayPlanSnapshots() && wo.spent <= planBytes {
		w := wo.waiting.Front().Value.(*watch)
		wo.release(w)
		wo.planWatch(w)
	}
}

// removeInflight stops counting a connection that has taken all, takes too long, or is gone.
func (wo *worker) removeInflight(sub *subscriber) {
	if sub.inflightPlace == 0 {
		return
	}
	wo.inflightBytes -= sub.inflightBytes
	last := len(wo.inflight) - 1
	moved := wo.inflight[last]
	wo.inflight[sub.inflightPlace-1], moved.inflightPlace = moved, sub.inflightPlace
	wo.inflight[last] = nil
	wo.inflight = wo.inflight[:last]
	sub.inflightBytes, sub.inflightPlace = 0, 0
}
