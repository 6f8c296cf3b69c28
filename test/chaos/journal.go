//go:build linux

package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// entry is something that a client tells of an act, in the process of the run or in its own. What is told again
// under the same number takes the place of what was told before: so what a client was about to do is known even
// if it never comes to tell how that went.
type entry struct {
	Client    int                `json:"client"`
	Number    uint64             `json:"number"`
	Operation *history.Operation `json:"operation,omitempty"`
	Session   *history.Session   `json:"session,omitempty"`
	Hold      *history.Hold      `json:"hold,omitempty"`
	Write     *history.Write     `json:"write,omitempty"`
	View      *history.View      `json:"view,omitempty"`
	Fault     *history.Fault     `json:"fault,omitempty"`
	Note      *note              `json:"note,omitempty"`
}

// note is something that is wrong.
type note struct {
	At   history.Time `json:"at"`
	Text string       `json:"text"`
	// Since: it is right after all where something hindered everybody since then, such as a machine that is busy.
	Since history.Time `json:"since,omitempty"`
}

// key tells entries apart.
type key struct {
	client int
	number uint64
}

// journal gathers what all clients of an act tell. It also has the store that locks guard.
type journal struct {
	clock *clock

	mu         sync.Mutex // guards what follows
	operations map[key]history.Operation
	sessions   map[key]history.Session
	holds      map[key]history.Hold
	writes     []history.Write
	views      []history.View
	faults     []history.Fault
	finals     []history.Final
	agreed     []history.Final // those of them on which everybody agreed
	notes      []note
	store      workload.Store
	last       map[int]history.View // of each watcher
}

func newJournal(c *clock) *journal {
	return &journal{
		clock: c, operations: make(map[key]history.Operation), sessions: make(map[key]history.Session),
		holds: make(map[key]history.Hold), store: make(workload.Store), last: make(map[int]history.View),
	}
}

// take takes an entry down.
func (j *journal) take(e entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := key{e.Client, e.Number}
	switch {
	case e.Operation != nil:
		j.operations[k] = *e.Operation
	case e.Session != nil:
		x := *e.Session
		x.To = j.lasted(x.To, func(_ history.Semaphore, l history.Link) bool { return l.Session == x.ID })
		j.sessions[k] = x
	case e.Hold != nil:
		x := *e.Hold
		x.To = j.lasted(x.To, func(s history.Semaphore, l history.Link) bool { return s == x.Semaphore && l.Order == x.Order })
		j.holds[k] = x
	case e.Write != nil:
		j.writes = append(j.writes, *e.Write)
	case e.View != nil:
		j.views = append(j.views, *e.View)
		j.last[e.View.Watcher] = *e.View
	case e.Fault != nil:
		j.faults = append(j.faults, *e.Fault)
	default:
		j.notes = append(j.notes, *e.Note)
	}
}

// lasted is when something ended, told after the end was read. Who stood still does not know when something of his ended
// and tells the earliest moment; what owned when everybody agreed that it does had not ended then. The lock is held.
func (j *journal) lasted(to history.Time, owned func(history.Semaphore, history.Link) bool) history.Time {
	for _, f := range j.agreed {
		if to <= f.At && slices.ContainsFunc(f.State.Owners, func(l history.Link) bool { return owned(f.Semaphore, l) }) {
			to = f.At + 1
		}
	}
	return to
}

// note takes down something that is wrong.
func (j *journal) note(format string, args ...any) {
	j.take(entry{Note: &note{At: j.clock.Now(), Text: fmt.Sprintf(format, args...)}})
}

// write is what the guarded store does with a write, and when.
func (j *journal) write(of history.Semaphore, token uint64) (at history.Time, accepted bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.clock.Now(), j.store.Write(of, token)
}

// fault takes down that something is wrong from now on, for one client or for anybody if that is negative.
func (j *journal) fault(what string, client int) (end func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := len(j.faults)
	j.faults = append(j.faults, history.Fault{From: j.clock.Now(), To: history.Never, What: what, Client: client})
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.faults[at].To = min(j.faults[at].To, j.clock.Now())
	}
}

// calm tells whether nothing was wrong since a moment, and no session ended.
func (j *journal) calm(since history.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range j.faults {
		if f.To > since && f.What != diskBusy {
			return false
		}
	}
	for _, s := range j.sessions {
		if s.To != history.Never && s.To > since {
			return false
		}
	}
	return true
}

// final takes down how a semaphore stands in the end, and whether everybody agreed on that.
func (j *journal) final(s history.Semaphore, state history.State, watchers []int, agreed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := history.Final{Semaphore: s, At: j.clock.Now(), State: state, Watchers: watchers}
	j.finals = append(j.finals, f)
	if agreed {
		j.agreed = append(j.agreed, f)
	}
}

// texts are the notes that count. The lock is held.
func (j *journal) texts() (list []string) {
	for _, n := range j.notes {
		hindered := func(f history.Fault) bool { return f.Client < 0 && f.From < n.At && f.To > n.Since }
		if n.Since == 0 || !slices.ContainsFunc(j.faults, hindered) {
			list = append(list, fmt.Sprintf("%v: %s", n.At, n.Text))
		}
	}
	return list
}

// bury ends what a client believed in whose process was killed, from a moment on at which it was still there.
func (j *journal) bury(client int, at history.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for k, s := range j.sessions {
		if k.client == client && s.To == history.Never {
			s.To, s.End, s.Detail = max(at, s.From), history.Closed, "its process was killed"
			j.sessions[k] = s
		}
	}
	for k, h := range j.holds {
		if k.client == client && h.To == history.Never {
			h.To, h.Why = max(at, h.From), "its process was killed"
			j.holds[k] = h
		}
	}
}

// living are the sessions that have not ended.
func (j *journal) living() (ids []uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.sessions {
		if s.To == history.Never {
			ids = append(ids, s.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// agrees tells whether everybody knows of a semaphore what there is: its owners that they own, nobody else that
// he does, watchers what they should see; and nobody waits.
func (j *journal) agrees(s history.Semaphore, state history.State, watchers []int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	open := make(map[uint64]uint64) // counts by order id
	for _, h := range j.holds {
		if h.Semaphore == s && h.To == history.Never {
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
		v, ok := j.last[w]
		if !ok || v.State.Exists != state.Exists || v.State.Data != state.Data || !slices.Equal(v.State.Owners, state.Owners) {
			return false
		}
	}
	return true
}

// history is all of it, in order. What was never heard of again has an unknown outcome.
func (j *journal) history(title string, grace time.Duration) *history.History {
	j.mu.Lock()
	defer j.mu.Unlock()
	end := j.clock.Now()
	h := &history.History{Title: title, Grace: grace, Notes: j.texts(), Faults: j.faults, Finals: j.finals, Views: j.views, Writes: j.writes}
	for _, o := range j.operations {
		if o.Outcome == "" {
			o.Outcome, o.Error, o.Returned = history.Unknown, "its client was not heard of again", end
		}
		h.Operations = append(h.Operations, o)
	}
	for _, s := range j.sessions {
		h.Sessions = append(h.Sessions, s)
	}
	for _, x := range j.holds {
		h.Holds = append(h.Holds, x)
	}
	slices.SortFunc(h.Operations, func(a, b history.Operation) int {
		return cmp.Or(cmp.Compare(a.Returned, b.Returned), cmp.Compare(a.Called, b.Called))
	})
	slices.SortFunc(h.Sessions, func(a, b history.Session) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(h.Holds, func(a, b history.Hold) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Order, b.Order))
	})
	slices.SortStableFunc(h.Writes, func(a, b history.Write) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(h.Views, func(a, b history.View) int { return cmp.Compare(a.At, b.At) })
	return h
}
