//go:build linux

package survival_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// record is the answers received by a test's clients.
type record struct {
	t       *testing.T
	done    chan struct{}
	finish  sync.Once
	changes notifier // for held and faults

	mu       sync.Mutex // guards what follows
	statuses map[string]int
	faults   []string
	// unanswered are requests without an answer within the client's timeout.
	unanswered []string
	ends       []string          // sessions not ended by their client
	held       map[string][]hold // by lock
	created    map[string]string // data by name
	written    map[string]*written
}

// hold is an interval in which a client believed to own a lock.
type hold struct {
	order    uint64
	from, to time.Time
	session  uint64
}

// written is the last sent and the last acknowledged value of a semaphore's only writer.
type written struct{ sent, acknowledged int }

func newRecord(t *testing.T) *record {
	r := &record{
		t: t, done: make(chan struct{}), statuses: make(map[string]int),
		held: make(map[string][]hold), created: make(map[string]string), written: make(map[string]*written),
	}
	t.Cleanup(r.stop)
	return r
}

// stop makes all clients give up.
func (r *record) stop() { r.finish.Do(func() { close(r.done) }) }

func (r *record) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *record) count(status string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statuses[status]++
}

// noAnswer records a request without an answer over a live connection.
func (r *record) noAnswer(kind, address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unanswered) < 20 {
		r.unanswered = append(r.unanswered, fmt.Sprintf("%s to %s at %s",
			kind, address, time.Now().Add(-answerTimeout).Format(time.StampMilli)))
	}
}

func (r *record) wrong(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.faults) < 20 {
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
	r.changes.notify()
}

func (r *record) ended(session uint64, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = append(r.ends, fmt.Sprintf("%v session %x: %s", time.Now().Format(time.StampMilli), session, why))
}

func (r *record) hold(lock string, h hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[lock] = append(r.held[lock], h)
	r.changes.notify()
}

func (r *record) create(name, data string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.created[name] = data
}

// writes records that a value is about to be sent, acknowledged that it was acknowledged.
func (r *record) writes(name string, value int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.written[name]
	if w == nil {
		w = &written{}
		r.written[name] = w
	}
	w.sent = value
}

func (r *record) wrote(name string, value int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[name].acknowledged = value
}

// cycles returns, for each lock, how often it was held.
func (r *record) cycles() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]int)
	for lock, all := range r.held {
		out[lock] = len(all)
	}
	return out
}

// longestPause is the longest interval since the given time in which no client got some lock.
func (r *record) longestPause(since time.Time) (longest pause) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for lock, all := range r.held {
		var from []time.Time
		for _, h := range all {
			from = append(from, h.from)
		}
		slices.SortFunc(from, time.Time.Compare)
		for i := 1; i < len(from); i++ {
			if took := from[i].Sub(from[i-1]); from[i].After(since) && took > longest.took {
				longest = pause{lock, from[i-1].Sub(since), took}
			}
		}
	}
	return longest
}

// pause is an interval in which no client got a lock.
type pause struct {
	lock        string
	after, took time.Duration
}

func (p pause) String() string {
	return fmt.Sprintf("no client got %s for %v, from %v on",
		p.lock, p.took.Round(time.Millisecond), p.after.Round(time.Millisecond))
}

// checkHolders checks that no lock had two holders at once, and that order ids grew.
func (r *record) checkHolders() {
	r.t.Helper()
	total, clashes := r.clashes()
	for _, clash := range clashes {
		r.t.Error(clash)
	}
	r.t.Logf("%d holds were checked", total)
}

// clashes returns overlapping holders of a lock, and order ids that did not grow.
func (r *record) clashes() (total int, out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for lock, all := range r.held {
		total += len(all)
		slices.SortFunc(all, func(a, b hold) int { return cmp.Compare(a.order, b.order) })
		for i := 1; i < len(all); i++ {
			before, after := all[i-1], all[i]
			if after.order == before.order || after.from.Before(before.to) {
				const format = "lock %s had two holders: session %x under %d until %v, " +
					"and session %x under %d from %v, %v too early"
				out = append(out, fmt.Sprintf(format,
					lock, before.session, before.order, before.to.Format(time.StampMicro),
					after.session, after.order, after.from.Format(time.StampMicro), before.to.Sub(after.from)))
			}
		}
	}
	return total, out
}

func TestTheRecordSeesTwoHolders(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	for _, c := range []struct {
		name  string
		holds []hold
		want  int
	}{
		{"one after the other", []hold{{1, at(0), at(1), 1}, {2, at(1), at(2), 2}}, 0},
		{"recorded in another order", []hold{{2, at(1), at(2), 2}, {1, at(0), at(1), 1}}, 0},
		{"both at once", []hold{{1, at(0), at(3), 1}, {2, at(2), at(4), 2}}, 1},
		{"order ids that go back", []hold{{2, at(0), at(1), 1}, {1, at(2), at(3), 2}}, 1},
		{"the same order id twice", []hold{{1, at(0), at(1), 1}, {1, at(2), at(3), 2}}, 1},
	} {
		r := newRecord(t)
		for _, h := range c.holds {
			r.hold("lock", h)
		}
		if total, clashes := r.clashes(); total != len(c.holds) || len(clashes) != c.want {
			t.Errorf("%s: of %d holds %d clash, want %d: %v", c.name, total, len(clashes), c.want, clashes)
		}
	}
}

// checkErrors checks that every error seen by clients was retryable, and logs the errors.
func (r *record) checkErrors() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fault := range r.faults {
		r.t.Error(fault)
	}
	if len(r.unanswered) > 0 {
		r.t.Logf("not answered within %v: %s", answerTimeout, strings.Join(r.unanswered, "; "))
	}
	var lines []string
	for _, status := range slices.Sorted(maps.Keys(r.statuses)) {
		lines = append(lines, fmt.Sprintf("%d %s", r.statuses[status], status))
	}
	r.t.Logf("worth a retry: %s", strings.Join(lines, "; "))
}

// checkNoSessionEnded checks that no session ended.
func (r *record) checkNoSessionEnded() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, end := range r.ends {
		r.t.Errorf("a session ended though its client spoke: %s", end)
	}
}

// checkData checks that all acknowledged data is present.
func (r *record) checkData(c *client) {
	r.t.Helper()
	r.mu.Lock()
	created, values := maps.Clone(r.created), maps.Clone(r.written)
	r.mu.Unlock()
	var group sync.WaitGroup
	gate := make(chan struct{}, 16)
	check := func(f func()) {
		group.Go(func() {
			gate <- struct{}{}
			f()
			<-gate
		})
	}
	for name, want := range created {
		check(func() {
			if have, err := c.read(name); err != nil || have != want {
				r.t.Errorf("%s was created with %q and has %q: %v", name, want, have, err)
			}
		})
	}
	for name, w := range values {
		check(func() {
			have, err := c.read(name)
			var value int
			if _, scanned := fmt.Sscan(have, &value); err != nil || scanned != nil || value < w.acknowledged ||
				value > w.sent {
				r.t.Errorf("%s has %q, %v; acknowledged were %d, sent %d", name, have, err, w.acknowledged, w.sent)
			}
		})
	}
	group.Wait()
	r.t.Logf("%d semaphores were created and %d written; what was acknowledged is there", len(created), len(values))
}
