//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// checkEvery is the interval of lease checks at a client.
	checkEvery = 5 * time.Millisecond
	// stillness is for how long a process has to have done nothing to count as having stood still.
	stillness = 250 * time.Millisecond
)

// recorder records the actions and observations of one client's workers. A client believes in a lease as long as checks
// say so. Leases are checked all the time, because a client with a stalled process does not know when it should have
// stopped believing. So no recorded hold exceeds the client's belief.
type recorder struct {
	*workload.Reporter
	client int
	grace  time.Duration // of the node
	quit   chan struct{}
	done   chan struct{}

	mu    sync.Mutex // guards what follows
	holds map[*holding]bool
	last  history.Time // when the process was seen to run
	// slept and woke are when the process stood still the last time.
	slept, woke history.Time
}

var _ workload.Recorder = (*recorder)(nil)

// newRecorder begins to record for a client.
func newRecorder(c *history.Clock, a Assignment, to workload.Collector) *recorder {
	r := &recorder{
		Reporter: workload.NewReporter(c, a.Client, a.Incarnation, to), client: a.Client, grace: a.Grace,
		holds: make(map[*holding]bool), quit: make(chan struct{}), done: make(chan struct{}),
	}
	r.last = r.Now()
	go r.checkLeases()
	return r
}

// close ends the checks.
func (r *recorder) close() {
	close(r.quit)
	<-r.done
}

// Begin implements workload.Recorder. An error without a matching fault is a finding.
func (r *recorder) Begin(o history.Operation) (end func(history.Operation, error)) {
	record := r.Reporter.Begin(o)
	return func(o history.Operation, err error) {
		r.noteUnexplained(err)
		record(o, err)
	}
}

// BeginRequest implements workload.Recorder, as Begin does.
func (r *recorder) BeginRequest(x history.Request) (end func(history.Request, error)) {
	record := r.Reporter.BeginRequest(x)
	return func(x history.Request, err error) {
		r.noteUnexplained(err)
		record(x, err)
	}
}

func (r *recorder) noteUnexplained(err error) {
	if errors.Is(err, client.ErrInternal) || errors.Is(err, client.ErrUnsupported) ||
		errors.Is(err, client.ErrUnauthorized) {
		r.Note("%v", err)
	}
}

// Session implements workload.Recorder.
func (r *recorder) Session(s workload.Session, x history.Session) (closed func()) {
	began := r.Now()
	end := r.BeginSession(x)
	over := func(why history.End, detail string) {
		at, why := r.endOf(x.Timeout, began, why)
		end(at, why, detail)
	}
	context.AfterFunc(s.Context(), func() { over(workload.EndOf(context.Cause(s.Context()))) })
	return func() { over(history.Closed, "by its user") }
}

// endOf is the earliest possible end of an ended session. A client with a stalled process may learn of the end, or
// close the session, before it looks at its clock: then the session may have ended at any time since the stall began.
func (r *recorder) endOf(timeout, began history.Time, why history.End) (history.Time, history.End) {
	now := r.Now()
	slept, ok := r.stoodStill(max(began, now-timeout-r.grace-stillness))
	switch {
	case !ok, why == history.Ended:
	case why != history.Closed, now-slept > timeout/2: // the host's last contact may be some time ago
		return slept, history.Silent
	}
	return now, why
}

// holding is a believed lease, from one change of its count to the next.
type holding struct {
	recorder *recorder
	lease    workload.Lease
	number   uint64
	hold     history.Hold // ends at the latest time of belief
}

// Hold implements workload.Recorder.
func (r *recorder) Hold(lease workload.Lease, x history.Hold) (end func(why string)) {
	x.From = r.Now()
	x.To = x.From
	h := &holding{recorder: r, lease: lease, hold: x}
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.check() { // otherwise it was over before the client believed in it
		open := h.hold
		open.To = history.Never
		h.number = r.Report(history.Entry{Hold: &open})
		r.holds[h] = true
	}
	return h.end
}

// end ends the hold because of a client action now.
func (h *holding) end(why string) {
	h.recorder.mu.Lock()
	defer h.recorder.mu.Unlock()
	if h.recorder.holds[h] {
		h.check()
		h.close(why)
	}
}

// check checks the lease, and reports whether the client believes in it. The recorder's lock is held.
func (h *holding) check() bool {
	at, err := h.lease.Believed(h.recorder.Now())
	h.hold.To = max(h.hold.To, at)
	return err == nil
}

// close reports the end. The recorder's lock is held.
func (h *holding) close(why string) {
	delete(h.recorder.holds, h)
	h.hold.Why = why
	ended := h.hold
	h.recorder.Replace(h.number, history.Entry{Hold: &ended})
}

// endHolds ends all holds: the client closes.
func (r *recorder) endHolds() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for h := range r.holds {
		h.check()
		h.close("its client closes")
	}
}

// checkLeases checks all leases again and again.
func (r *recorder) checkLeases() {
	defer close(r.done)
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.quit:
			return
		}
		r.mu.Lock()
		r.runs()
		for h := range r.holds {
			if !h.check() {
				h.close(fmt.Sprint(h.lease.Err()))
			}
		}
		r.mu.Unlock()
	}
}

// runs records that the process runs, and whether it was stalled before. The lock is held.
func (r *recorder) runs() {
	now := r.Now()
	if now-r.last > stillness {
		r.slept, r.woke = r.last, now
		r.Report(history.Entry{Fault: &history.Fault{
			From: r.last - checkEvery, To: now, What: "its process stood still", Client: r.client,
		}})
	}
	r.last = now
}

// stood records a stall of a driver process, as far as the run knows. Questions asked during a stall are answered
// together, with the same time.
func (r *recorder) stood(from, to history.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if from < r.woke {
		return
	}
	r.slept, r.woke = from, to
	r.Report(history.Entry{Fault: &history.Fault{From: from, To: to, What: "its driver stood still", Client: r.client}})
}

// stoodStill reports whether the process has stood still since a moment, and from when on.
func (r *recorder) stoodStill(since history.Time) (from history.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs()
	return r.slept, r.woke >= since && r.woke > 0
}
