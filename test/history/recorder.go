package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Clock returns the time since the start of the recording. Readings are unique.
type Clock struct {
	read func() Time

	mu   sync.Mutex // guards what follows
	last Time
}

// NewClock returns a clock based on read, the time since the start.
func NewClock(read func() Time) *Clock { return &Clock{read: read} }

// Now is the present moment.
func (c *Clock) Now() Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.read(), c.last+1)
	return c.last
}

// Entry is a client report. An entry with the same client and number replaces the earlier one, so intended requests are
// recorded even if their outcome is never reported.
type Entry struct {
	Client    int        `json:"client"`
	Number    uint64     `json:"number"`
	Operation *Operation `json:"operation,omitempty"`
	Session   *Session   `json:"session,omitempty"`
	Hold      *Hold      `json:"hold,omitempty"`
	Write     *Write     `json:"write,omitempty"`
	View      *View      `json:"view,omitempty"`
	Fault     *Fault     `json:"fault,omitempty"`
	Note      *Note      `json:"note,omitempty"`
	Request   *Request   `json:"request,omitempty"`
	Target    *Target    `json:"target,omitempty"`
	// Joined: an instance has joined, or has left if Session is 0.
	Joined *Joined `json:"joined,omitempty"`
	// Numbered is a request with a possibly reused number.
	Numbered *Numbered `json:"numbered,omitempty"`

	Call     *ProcessCall   `json:"call,omitempty"`
	Exchange *Exchange      `json:"exchange,omitempty"`
	Change   *ProcessChange `json:"change,omitempty"`
	Part     *ProcessPart   `json:"part,omitempty"`
}

// Note is a finding by a client.
type Note struct {
	At   Time   `json:"at"`
	Text string `json:"text"`
	// Since, if set: ignore the note if a fault affected every client since then.
	Since Time `json:"since,omitempty"`
}

// entryKey identifies an entry for replacement.
type entryKey struct {
	client int
	number uint64
}

// neverReported is the error of a request that never ended.
const neverReported = "its client never reported the outcome"

// own is the client number for the test's own operations.
const own = -1

// Store is the store guarded by locks. It refuses fencing tokens below the highest seen. The caller holds a mutex.
type Store map[Semaphore]uint64

// Write writes to the store, and reports whether the write is accepted.
func (s Store) Write(of Semaphore, token uint64) bool {
	if token < s[of] {
		return false
	}
	s[of] = token
	return true
}

// Recorder collects client reports and contains the store guarded by locks. It is safe for concurrent use.
type Recorder struct {
	*Clock
	title string

	mu         sync.Mutex // guards what follows
	grace      time.Duration
	operations map[entryKey]Operation
	sessions   map[entryKey]Session
	holds      map[entryKey]Hold
	writes     []Write
	views      []View
	faults     []Fault
	finals     []Final
	numbered   []Numbered
	agreed     []Final // finals on which all clients agreed
	notes      []Note
	store      Store
	last       map[int]View // of each watcher
	lastOwn    uint64
	restored   *Restoration
	recoveries []Recovery
	rollouts   rolloutRecord
	processes  processRecord
}

// NewRecorder begins to record.
func NewRecorder(title string, c *Clock) *Recorder {
	return &Recorder{
		Clock: c, title: title, operations: make(map[entryKey]Operation), sessions: make(map[entryKey]Session),
		holds: make(map[entryKey]Hold), store: make(Store), last: make(map[int]View),
		rollouts: newRolloutRecord(), processes: newProcessRecord(),
	}
}

// Add records an entry.
func (r *Recorder) Add(e Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := entryKey{e.Client, e.Number}
	switch {
	case e.Operation != nil:
		r.operations[k] = *e.Operation
	case e.Session != nil:
		x := *e.Session
		x.To = r.lasted(x.To, func(_ Semaphore, l Link) bool { return l.Session == x.ID })
		r.sessions[k] = x
	case e.Hold != nil:
		x := *e.Hold
		x.To = r.lasted(x.To, func(s Semaphore, l Link) bool { return s == x.Semaphore && l.Order == x.Order })
		r.holds[k] = x
	case e.Write != nil:
		r.writes = append(r.writes, *e.Write)
	case e.View != nil:
		r.views = append(r.views, *e.View)
		r.last[e.View.Watcher] = *e.View
	case e.Fault != nil:
		r.faults = append(r.faults, *e.Fault)
	case e.Note != nil:
		r.notes = append(r.notes, *e.Note)
	case e.Numbered != nil:
		r.numbered = append(r.numbered, *e.Numbered)
	case !r.processes.add(k, &e):
		r.rollouts.add(k, &e)
	}
}

// lasted corrects the end time of a holding, reported after the final state was read. A client with a stalled process
// does not know the end time and reports the earliest possible one. A holding that owned in an agreed final state had
// not ended by then. The lock is held.
func (r *Recorder) lasted(to Time, owned func(Semaphore, Link) bool) Time {
	for _, f := range r.agreed {
		if to <= f.At && slices.ContainsFunc(f.State.Owners, func(l Link) bool { return owned(f.Semaphore, l) }) {
			to = f.At + 1
		}
	}
	return to
}

// Operation records an operation by the test itself, returned just now. Called must be set.
func (r *Recorder) Operation(o Operation) {
	o.Returned = r.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastOwn++
	r.operations[entryKey{own, r.lastOwn}] = o
}

// Write writes to the guarded store and returns the result and the time.
func (r *Recorder) Write(of Semaphore, token uint64) (at Time, accepted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Now(), r.store.Write(of, token)
}

// Fault records the start of a fault for one client, or for all clients if negative. Call end when the fault ends.
func (r *Recorder) Fault(what string, client int) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := len(r.faults)
	r.faults = append(r.faults, Fault{From: r.Now(), To: Never, What: what, Client: client})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.faults[at].To = min(r.faults[at].To, r.Now())
	}
}

// Note records a finding of the test itself.
func (r *Recorder) Note(format string, args ...any) {
	r.Add(Entry{Note: &Note{At: r.Now(), Text: fmt.Sprintf(format, args...)}})
}

// Grace records the grace period of a node.
func (r *Recorder) Grace(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grace = max(r.grace, d)
}

// Restored records the replacement of the cluster by a cluster restored from its backup.
func (r *Recorder) Restored(x Restoration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.restored = &x
}

// Recovered records a rebuilt shard.
func (r *Recorder) Recovered(x Recovery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recoveries = append(r.recoveries, x)
}

// Final records the final state of a semaphore, and whether all clients agreed on it.
func (r *Recorder) Final(s Semaphore, state State, watchers []int, agreed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := Final{Semaphore: s, At: r.Now(), State: state, Watchers: watchers}
	r.finals = append(r.finals, f)
	if agreed {
		r.agreed = append(r.agreed, f)
	}
}

// ClientDied ends the beliefs of a client. The client's process still ran at the given time.
func (r *Recorder) ClientDied(client int, at Time) {
	const why = "its process died"
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rollouts.clientDied(client)
	r.processes.clientDied(client)
	for k, s := range r.sessions {
		if k.client == client && s.To == Never {
			s.To, s.End, s.Detail = max(at, s.From), Closed, why
			r.sessions[k] = s
		}
	}
	for k, h := range r.holds {
		if k.client == client && h.To == Never {
			h.To, h.Why = max(at, h.From), why
			r.holds[k] = h
		}
	}
}

// Living returns the live sessions.
func (r *Recorder) Living() (ids []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		if s.To == Never {
			ids = append(ids, s.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Calm reports whether, since a given time, no session ended and no fault occurred except the excluded kind.
func (r *Recorder) Calm(since Time, but string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.faults {
		if f.To > since && f.What != but {
			return false
		}
	}
	for _, s := range r.sessions {
		if s.To != Never && s.To > since {
			return false
		}
	}
	return true
}

// Agrees reports whether all clients know the semaphore state: exactly the owners believe to own, watchers have seen
// the state, and no client waits.
func (r *Recorder) Agrees(s Semaphore, state State, watchers []int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := make(map[uint64]uint64) // counts by order id
	for _, h := range r.holds {
		if h.Semaphore == s && h.To == Never {
			open[h.Order] = h.Count
		}
	}
	for _, l := range state.Owners {
		if open[l.Order] != l.Count {
			return false
		}
	}
	if len(open) != len(state.Owners) || len(state.Waiters) > 0 {
		return false
	}
	for _, w := range watchers {
		v, ok := r.last[w]
		if !ok || !v.State.sameAs(&state) {
			return false
		}
	}
	return true
}

// Created returns semaphore creates by name, for names with a prefix.
func (r *Recorder) Created(prefix string) map[string]Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	created := make(map[string]Operation)
	for _, o := range r.operations {
		if o.Kind == Create && strings.HasPrefix(o.Semaphore.Name, prefix) {
			created[o.Semaphore.Name] = o
		}
	}
	return created
}

// History returns the record, in order. An operation without a reported outcome has outcome Unknown.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Now()
	h := &History{
		Title: r.title, Grace: r.grace, Notes: r.noteTexts(), Faults: r.faults, Finals: r.finals, Views: r.views,
		Writes: r.writes, Numbered: r.numbered, Restored: r.restored,
		Recoveries: r.recoveries,
	}
	for _, o := range r.operations {
		if o.Outcome == "" {
			o.Outcome, o.Error, o.Returned = Unknown, neverReported, now
		}
		h.Operations = append(h.Operations, o)
	}
	for _, s := range r.sessions {
		h.Sessions = append(h.Sessions, s)
	}
	for _, x := range r.holds {
		h.Holds = append(h.Holds, x)
	}
	slices.SortFunc(h.Operations, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(a.Returned, b.Returned), cmp.Compare(a.Called, b.Called))
	})
	slices.SortFunc(h.Sessions, func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.From, b.From),
			cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(h.Holds, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Order, b.Order))
	})
	slices.SortStableFunc(h.Writes, func(a, b Write) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(h.Views, func(a, b View) int { return cmp.Compare(a.At, b.At) })
	r.rollouts.addTo(h, now)
	r.processes.addTo(h, now)
	return h
}

// noteTexts are the notes that count. The lock is held.
func (r *Recorder) noteTexts() (list []string) {
	for _, n := range r.notes {
		disturbs := func(f Fault) bool { return f.Client < 0 && f.From < n.At && f.To > n.Since }
		if n.Since == 0 || !slices.ContainsFunc(r.faults, disturbs) {
			list = append(list, fmt.Sprintf("%v: %s", n.At, n.Text))
		}
	}
	return list
}
