package workload

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/test/history"
)

// Recorder records actions and observations of one client's programs and watchers. It is safe for concurrent use.
type Recorder interface {
	// Now is the present moment.
	Now() history.Time
	// Begin records the start of an operation, and returns a function to record its outcome and error.
	Begin(o history.Operation) (end func(o history.Operation, err error))
	// Session records the start of a session, and later its end with the reason. The returned function records that its
	// user closes it now.
	Session(s Session, x history.Session) (closed func())
	// Hold records belief in a lease, from now on until its end. The returned function records that its user stops
	// believing now; only its first call counts.
	Hold(lease Lease, h history.Hold) (end func(why string))
	// Write writes to the store guarded by a semaphore, under the lease, and records whether the store accepted the
	// write.
	Write(of history.Semaphore, lease Lease)
	// View records a view shown to a watcher now.
	View(v history.View)
	// BeginRequest records the start of a rollout request, and returns a function to record its outcome and error.
	BeginRequest(r history.Request) (end func(r history.Request, err error))
	// Target records a target shown to a rollout instance now.
	Target(t history.Target)
	// Joined records that an instance has joined a rollout, or has left if it has no session.
	Joined(j history.Joined)
	// Report records any other entry, and returns its number. Replace replaces a numbered entry.
	Report(e history.Entry) (number uint64)
	Replace(number uint64, e history.Entry)
	// Note records a finding.
	Note(format string, args ...any)
}

// Collector receives a client's reports: a history.Recorder, directly or through a pipe. It is safe for concurrent use.
type Collector interface {
	Add(history.Entry)
	// Write writes to the store guarded by locks.
	Write(of history.Semaphore, token uint64) (at history.Time, accepted bool)
}

// Reporter reports one client's actions to a Collector: the common part of all Recorders.
type Reporter struct {
	*history.Clock
	client int
	to     Collector
	number atomic.Uint64 // latest entry
}

// NewReporter returns a client's reporter. A restarted client process has the next incarnation.
func NewReporter(c *history.Clock, client, incarnation int, to Collector) *Reporter {
	r := &Reporter{Clock: c, client: client, to: to}
	r.number.Store(uint64(incarnation) << 32)
	return r
}

// Report reports an entry, and returns its number.
func (r *Reporter) Report(e history.Entry) (number uint64) {
	number = r.number.Add(1)
	r.Replace(number, e)
	return number
}

// Replace replaces a numbered entry.
func (r *Reporter) Replace(number uint64, e history.Entry) {
	e.Client, e.Number = r.client, number
	r.to.Add(e)
}

// Note implements Recorder.
func (r *Reporter) Note(format string, args ...any) { r.NoteUnless(0, format, args...) }

// NoteUnless reports a finding, void if a fault has affected every client since the given time.
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

// BeginSession reports the start of a session, and returns a function to report its end, once.
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
