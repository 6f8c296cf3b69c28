package history

import (
	"fmt"
	"sync"
	"time"
)

// Recorder takes down a history. It may be used by many goroutines.
type Recorder struct {
	mu      sync.Mutex // guards what follows
	began   time.Time
	last    Time
	history History
}

// NewRecorder begins to record.
func NewRecorder(title string) *Recorder {
	return &Recorder{began: time.Now(), history: History{Title: title}}
}

// Now is the present moment. No two calls return the same one.
func (r *Recorder) Now() Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now()
}

func (r *Recorder) now() Time {
	r.last = max(time.Since(r.began), r.last+1)
	return r.last
}

// Operation takes down an operation that has returned now. Its Called is set by whoever began it.
func (r *Recorder) Operation(o Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Returned = r.now()
	r.history.Operations = append(r.history.Operations, o)
}

// Hold takes down that a hold begins now, and returns what ends it. Only the first call of that counts.
func (r *Recorder) Hold(h Hold) (end func(why string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := len(r.history.Holds)
	h.From, h.To = r.now(), Never
	r.history.Holds = append(r.history.Holds, h)
	return func(why string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if h := &r.history.Holds[at]; h.To == Never {
			h.To, h.Why = r.now(), why
		}
	}
}

// Write takes down a write. accept decides whether it is accepted, in the same moment.
func (r *Recorder) Write(w Write, accept func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.At, w.Accepted = r.now(), accept()
	r.history.Writes = append(r.history.Writes, w)
}

// View takes down what a watcher saw.
func (r *Recorder) View(v View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v.At = r.now()
	r.history.Views = append(r.history.Views, v)
}

// Session takes down that a session began, and returns what ends it. Only the first call of that counts.
func (r *Recorder) Session(s Session) (end func(why End, detail string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := len(r.history.Sessions)
	s.From, s.To = r.now(), Never
	r.history.Sessions = append(r.history.Sessions, s)
	return func(why End, detail string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if s := &r.history.Sessions[at]; s.To == Never {
			s.To, s.End, s.Detail = r.now(), why, detail
		}
	}
}

// Bury takes down that a client's process dies now, and with it all that it believes in.
func (r *Recorder) Bury(client int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	const why = "its process died"
	dead := make(map[uint64]bool)
	for _, s := range r.history.Sessions {
		dead[s.ID] = dead[s.ID] || s.Client == client && s.To == Never
	}
	for i := range r.history.Holds {
		if h := &r.history.Holds[i]; dead[h.Session] && h.To == Never {
			h.To, h.Why = r.now(), why
		}
	}
	for i := range r.history.Sessions {
		if s := &r.history.Sessions[i]; dead[s.ID] && s.To == Never {
			s.To, s.End, s.Detail = r.now(), Closed, why
		}
	}
}

// Fault takes down that a fault begins now, and returns what ends it.
func (r *Recorder) Fault(what string, client int) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := len(r.history.Faults)
	r.history.Faults = append(r.history.Faults, Fault{From: r.now(), To: Never, What: what, Client: client})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if f := &r.history.Faults[at]; f.To == Never {
			f.To = r.now()
		}
	}
}

// Final takes down how a semaphore stands in the end.
func (r *Recorder) Final(f Final) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f.At = r.now()
	r.history.Finals = append(r.history.Finals, f)
}

// Grace takes down that a node has this grace period.
func (r *Recorder) Grace(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Grace = max(r.history.Grace, d)
}

// Note takes down something that is wrong.
func (r *Recorder) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Notes = append(r.history.Notes, fmt.Sprintf("%v: %s", r.now(), fmt.Sprintf(format, args...)))
}

// History ends the recording and returns what was recorded.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.history
	r.history = History{}
	return &h
}
