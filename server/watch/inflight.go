package watch

import "time"

// Snapshots are copied into the stream of every receiving connection. If thousands of connections open a watch at
// once, after a host restart, all copies would be in memory at the same time. So only Options.InflightBytes of
// snapshots are in flight at a time, and further watches wait until the connections have sent their bytes.

const (
	// inflightTime is how long a connection may hold snapshot bytes without a new page before the bytes no longer
	// count, so that slow clients do not delay other clients. Options.SlowBytes limits such a connection's bytes.
	inflightTime = time.Second
	// smallPages is the number of pages that count as one Options.PageBytes if every page is too small to count.
	smallPages = 16
	// burstBytes is the maximum number of snapshot bytes planned between two checks. The event loops write the bytes,
	// and requests on the same loops wait meanwhile: for 100 ms if all InflightBytes were planned at once.
	burstBytes = 1 << 20
	// checkEvery is the interval at which the worker checks, while watches wait, how much has been sent.
	checkEvery = 5 * time.Millisecond
)

// mayPlanPage reports whether the next page of the watch's snapshot may be planned now.
func (wo *worker) mayPlanPage(w *watch) bool {
	s := w.reading
	return wo.mayPlanSnapshots() || s.dropped || wo.isSmall(s.at(w.page, w.wants).Size())
}

// mayPlanSnapshots reports whether further snapshot pages may be planned now.
func (wo *worker) mayPlanSnapshots() bool {
	if wo.now.Sub(wo.burstSince) >= checkEvery {
		wo.burst, wo.burstSince = 0, wo.now
	}
	return wo.burst < burstBytes && wo.inflightBytes < wo.hub.options.InflightBytes
}

func (wo *worker) isSmall(bytes int) bool { return bytes <= wo.hub.options.PageBytes/smallPages }

// addInflight counts a planned page.
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

// planWaiting checks how many snapshot bytes have been sent, and plans as many waiting watches as the limit allows.
func (wo *worker) planWaiting() {
	wo.grew = false
	if wo.waiting.Len() == 0 {
		return
	}
	for i := len(wo.inflight) - 1; i >= 0; i-- { // removeInflight moves the last entry to index i
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

// removeInflight stops counting a connection that has sent everything, takes too long, or is closed.
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
