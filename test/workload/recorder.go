package workload

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/test/history"
)

// Recorder records what the programs and watchers of one client do and see. It is safe for use by many goroutines.
type Recorder interface {
	// Now is the present moment.
	Now() history.Time
	// Begin records that an operation begins, and returns what records its outcome and its error.
	Begin(o history.Operation) (end func(o history.Operation, err error))
	// Session records that a session has begun, and when and why it ends. It returns what records that its user closes
	// it now.
	Session(s Session, x history.Session) (closed func())
	// Hold records that a lease is believed in, from now on until it is over. It returns what records that its user
	// stops believing now; only the first call of that counts.
	Hold(lease Lease, h history.Hold) (end func(why string))
	// Write writes to the store that a semaphore guards, under the lease, and records whether the store accepted it.
	Write(of history.Semaphore, lease Lease)
	// View records what a watcher is shown now.
	View(v history.View)
	// BeginRequest records that a request about a rollout begins, and returns what records its outcome and its error.
	BeginRequest(r history.Request) (end func(r history.Request, err error))
	// Target records what an instance of a rollout is shown now.
	Target(t history.Target)
	// Joined records that an instance has joined a rollout, or takes part no more where it has no session.
	Joined(j history.Joined)
	// Report records something besides, and returns the number of its entry. Replace replaces what has a number.
	Report(e history.Entry) (number uint64)
	Replace(number uint64, e history.Entry)
	// Note records a finding.
	Note(format string, args ...any)
}

// Collector is where a client reports to: a history.Recorder, directly or through a pipe. It is safe for use by many
// goroutines.
type Collector interface {
	Add(history.Entry)
	// Write writes to the store that locks guard.
	Write(of history.Semaphore, token uint64) (at history.Time, accepted bool)
}

// Reporter reports what one client does to a Collector: the part that all Recorders have in common.
type Reporter struct {
	*history.Clock
	client int
	to     Collector
	number atomic.Uint64 // of the latest entry
}

// NewReporter returns the reporter of a client. A client whose process is started again has the next incarnation.
func NewReporter(c *history.Clock, client, incarnation int, to Collector) *Reporter {
	r := &Reporter{Clock: c, client: client, to: to}
	r.number.Store(uint64(incarnation) << 32)
	return r
}

// Report reports something, and returns the number of its entry.
func (r *Reporter) Report(e history.Entry) (number uint64) {
	number = r.number.Add(1)
	r.Replace(number, e)
	return number
}

// Replace replaces what was reported under a number.
func (r *Reporter) Replace(number uint64, e history.Entry) {
	e.Client, e.Number = r.client, number
	r.to.Add(e)
}

// Note implements Recorder.
func (r *Reporter) Note(format string, args ...any) { r.NoteUnless(0, format, args...) }

// NoteUnless reports a finding that does not count where a fault disturbed every client at some moment since then.
func (r *Reporter) NoteUnless(since history.Time, format string, args ...any) {
	text := fmt.Sprintf("client %d: %s", r.client, fmt.Sprintf(format, args...))
	r.Report(history.Entry{Note: &history.Note{At: r.Now(), Text: text, Since: since}})
}

// View implements Recorder.
func (r *Reporter) View(v history.View) {
	v.At = r.Now()
	r.Report(history.Entry{View: &v})
}

// Begin implements Recorder.
func (r *Reporter) Begin(o history.Operation) (end func(history.Operation, error)) {
	number := r.Report(history.Entry{Operation: &o})
	return func(o history.Operation, _ error) {
		o.Returned = r.Now()
		r.Replace(number, history.Entry{Operation: &o})
	}
}

// BeginRequest implements Recorder.
func (r *Reporter) BeginRequest(x history.Request) (end func(history.Request, error)) {
	number := r.Report(history.Entry{Request: &x})
	return func(x history.Request, _ error) {
		x.Returned = r.Now()
		r.Replace(number, history.Entry{Request: &x})
	}
}

// Target implements Recorder.
func (r *Reporter) Target(t history.Target) {
	t.At = r.Now()
	r.Report(history.Entry{Target: &t})
}

// Joined implements Recorder.
func (r *Reporter) Joined(j history.Joined) { r.Report(history.Entry{Joined: &j}) }

// Write implements Recorder. The writer believed in its lease if it still does after the write.
func (r *Reporter) Write(of history.Semaphore, lease Lease) {
	w := history.Write{Semaphore: of, Order: lease.Fence()}
	w.At, w.Accepted = r.to.Write(w.Semaphore, w.Order)
	w.Believed = lease.Ask() == nil
	r.Report(history.Entry{Write: &w})
}

// BeginSession reports that a session has begun, and returns what reports its end, once.
func (r *Reporter) BeginSession(x history.Session) (end func(history.Time, history.End, string)) {
	x.Client, x.From, x.To = r.client, r.Now(), history.Never
	begun := x
	number := r.Report(history.Entry{Session: &begun})
	var once sync.Once
	return func(at history.Time, why history.End, detail string) {
		once.Do(func() {
			x.To, x.End, x.Detail = max(at, x.From), why, detail
			r.Replace(number, history.Entry{Session: &x})
		})
	}
}
