package history_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/test/history"
)

var lock = history.Semaphore{Node: "/jobs", Name: "lock"}

// made is a history that creates the lock with limit 1, modified by change.
func made(change func(*history.History)) *history.History {
	h := &history.History{Operations: []history.Operation{
		{Kind: history.Create, Semaphore: lock, Limit: 1, Called: 1, Returned: 2, Outcome: history.Done},
	}}
	change(h)
	return h
}

func hold(session, order uint64, from, to history.Time) history.Hold {
	return history.Hold{Semaphore: lock, Session: session, Order: order, Count: 1, From: from, To: to}
}

func acquired(session, order uint64, called, returned history.Time) history.Operation {
	return history.Operation{
		Kind: history.Acquire, Semaphore: lock, Session: session, Count: 1, Order: order,
		Called: called, Returned: returned, Outcome: history.Done,
	}
}

func released(session, order uint64, called, returned history.Time) history.Operation {
	return history.Operation{
		Kind: history.Release, Semaphore: lock, Session: session, Guard: order, Released: true,
		Called: called, Returned: returned, Outcome: history.Done,
	}
}

func shown(called, returned history.Time, state history.State) history.Operation {
	return history.Operation{Kind: history.Describe, Semaphore: lock, Called: called, Returned: returned,
		Outcome: history.Done, Found: &state}
}

func owned(revision uint64, links ...history.Link) history.State {
	return history.State{Exists: true, Limit: 1, Revision: revision, Owners: links}
}

func one(session, order uint64) history.Link {
	return history.Link{Session: session, Order: order, Count: 1}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   string // broken rule; empty for none
		change func(*history.History)
	}{
		{"nothing happens", "", func(*history.History) {}},
		{"one holds after the other", "", func(h *history.History) {
			h.Holds = []history.Hold{hold(1, 1, 10, 20), hold(2, 2, 21, 30)}
		}},
		{"two hold at once", "holders", func(h *history.History) {
			h.Holds = []history.Hold{hold(1, 1, 10, 22), hold(2, 2, 21, 30)}
		}},
		{"two hold, but the first was deleted by force", "", func(h *history.History) {
			h.Holds = []history.Hold{hold(1, 1, 10, 22), hold(2, 2, 21, 30)}
			h.Operations = append(h.Operations, history.Operation{
				Kind: history.Delete, Force: true, Semaphore: lock, Called: 15, Returned: 16, Outcome: history.Unknown,
			})
		}},
		{"a number is used again, and the request refused or Success", "", func(h *history.History) {
			h.Numbered = []history.Numbered{
				{Semaphore: lock, Session: 1, Number: 1, Kind: history.Acquire, Order: 7, Owns: 7},
				{Semaphore: lock, Session: 1, Number: 1, Kind: history.Acquire},
				{Semaphore: lock, Session: 1, Number: 2, Kind: history.Release},
			}
		}},
		{"an acquire is answered as another one of its number", "numbers", func(h *history.History) {
			h.Numbered = []history.Numbered{{Semaphore: lock, Session: 1, Number: 1, Kind: history.Acquire, Order: 7}}
		}},
		{"a release is answered as another one of its number", "numbers", func(h *history.History) {
			h.Numbered = []history.Numbered{{Semaphore: lock, Session: 1, Number: 1, Kind: history.Release, Held: 7}}
		}},
		{"who asks later gets a smaller token", "order", func(h *history.History) {
			h.Operations = append(h.Operations, acquired(1, 5, 10, 11), released(1, 5, 12, 13), acquired(2, 4, 14, 15))
		}},
		{"who joined first holds last", "order", func(h *history.History) {
			h.Holds = []history.Hold{hold(2, 2, 10, 20), hold(1, 1, 21, 30)}
		}},
		{"a holder is refused", "writes", func(h *history.History) {
			h.Writes = []history.Write{
				{Semaphore: lock, Order: 2, At: 10, Believed: true, Accepted: true},
				{Semaphore: lock, Order: 1, At: 11, Believed: true},
			}
		}},
		{"a holder is refused whose session an operator has ended", "", func(h *history.History) {
			h.Operations = append(h.Operations,
				history.Operation{Kind: history.Destroy, Session: 1, Called: 9, Returned: 10, Outcome: history.Done})
			h.Holds = []history.Hold{hold(1, 1, 8, 12), hold(2, 2, 10, 11)}
			h.Writes = []history.Write{
				{Semaphore: lock, Order: 2, At: 10, Believed: true, Accepted: true},
				{Semaphore: lock, Order: 1, At: 11, Believed: true},
			}
		}},
		{"who was stopped is refused", "", func(h *history.History) {
			h.Writes = []history.Write{{Semaphore: lock, Order: 2, At: 10, Believed: true, Accepted: true}, {
				Semaphore: lock, Order: 1, At: 11,
			}}
		}},
		{"somebody waits for what is free", "states", func(h *history.History) {
			h.Views = []history.View{{Watcher: 1, Semaphore: lock, At: 9, State: owned(1)}}
			h.Finals = []history.Final{{Semaphore: lock, At: 10,
				State: history.State{Exists: true, Limit: 1, Waiters: []history.Link{one(1, 1)}}}}
		}},
		{"a view shows more owners than there may be", "states", func(h *history.History) {
			h.Views = []history.View{{Watcher: 1, Semaphore: lock, At: 9, State: owned(1, one(1, 1), one(2, 2))}}
		}},
		{"an owner comes back", "once", func(h *history.History) {
			h.Views = []history.View{
				{Watcher: 1, Semaphore: lock, At: 9, State: owned(1, one(1, 1))},
				{Watcher: 1, Semaphore: lock, At: 10, State: owned(2)},
				{Watcher: 1, Semaphore: lock, At: 11, State: owned(3, one(1, 1))},
			}
		}},
		{"one revision is two states", "once", func(h *history.History) {
			h.Views = []history.View{
				{Watcher: 1, Semaphore: lock, At: 9, State: owned(1, one(1, 1))},
				{Watcher: 2, Semaphore: lock, At: 10, State: owned(1)},
			}
		}},
		{"a host ends a session that its client believes in", "sessions", func(h *history.History) {
			h.Sessions = []history.Session{{ID: 1, From: 5, To: 20, End: history.Expired}}
		}},
		{"a session is given up for nothing", "sessions", func(h *history.History) {
			h.Sessions = []history.Session{{ID: 1, From: 5, To: 20, End: history.Silent}}
		}},
		{"a session is given up in a fault of its client", "", func(h *history.History) {
			h.Sessions = []history.Session{{ID: 1, Client: 3, From: 5, To: 20, End: history.Silent}}
			h.Faults = []history.Fault{{From: 10, To: 12, Client: 3}}
		}},
		{"a session is given up in a fault of another client", "sessions", func(h *history.History) {
			h.Sessions = []history.Session{{ID: 1, Client: 3, From: 5, To: 20, End: history.Silent}}
			h.Faults = []history.Fault{{From: 10, To: 12, Client: 4}}
		}},
		{"a free lock is waited for", "progress", func(h *history.History) {
			h.Operations = append(h.Operations, history.Operation{
				Kind: history.Acquire, Semaphore: lock, Session: 1, Count: 1, Wait: -1, Called: 9, Queued: 10, Place: 1,
				Returned: 10 * time.Second, Outcome: history.Unknown,
			})
		}},
		{"a slow client hears of its grant when the lock was deleted already", "", func(h *history.History) {
			slow := acquired(1, 7, 3, 20)
			slow.Wait, slow.Queued, slow.Place = -1, 15, 7
			h.Operations = append(h.Operations, acquired(2, 6, 3, 4), slow, released(2, 6, 5, 6),
				history.Operation{
					Kind: history.Delete, Force: true, Semaphore: lock, Called: 8, Returned: 9, Outcome: history.Done,
				},
				history.Operation{
					Kind: history.Create, Semaphore: lock, Limit: 1, Called: 10, Returned: 11, Outcome: history.Done,
				})
			h.Operations = append(h.Operations, acquired(3, 9, 16, 17))
		}},
		{"an owner is not notified", "notified", func(h *history.History) {
			h.Operations = append(h.Operations, history.Operation{
				Kind: history.Delete, Force: true, Semaphore: lock, Called: 15, Returned: 16, Outcome: history.Done,
			})
			h.Holds = []history.Hold{hold(1, 1, 10, 10*time.Second)}
		}},
		{"a watcher sees a revision twice", "watches", func(h *history.History) {
			h.Views = []history.View{
				{Watcher: 1, Semaphore: lock, At: 9, State: owned(1)},
				{Watcher: 1, Semaphore: lock, At: 10, State: owned(1)},
			}
		}},
		{"a watcher ends with an old state", "watches", func(h *history.History) {
			h.Views = []history.View{{Watcher: 1, Semaphore: lock, At: 9, State: owned(1, one(1, 1))}}
			h.Finals = []history.Final{{Semaphore: lock, At: 10, State: owned(2), Watchers: []int{1}}}
		}},
		{"the dead own", "finals", func(h *history.History) {
			h.Sessions = []history.Session{{ID: 1, To: 9, End: history.Closed}}
			h.Finals = []history.Final{{Semaphore: lock, At: 10, State: owned(2, one(1, 1))}}
		}},
		{"somebody believes and does not own", "finals", func(h *history.History) {
			h.Holds = []history.Hold{hold(1, 1, 5, history.Never)}
			h.Finals = []history.Final{{Semaphore: lock, At: 10, State: owned(2)}}
		}},
		{"a lock is acquired, released and acquired", "", func(h *history.History) {
			h.Operations = append(h.Operations, acquired(1, 1, 10, 11), released(1, 1, 12, 14), acquired(2, 2, 13, 15),
				shown(16, 17, owned(4, one(2, 2))))
		}},
		{"a lock is acquired twice", "linear", func(h *history.History) {
			h.Operations = append(h.Operations, acquired(1, 1, 10, 11), acquired(2, 2, 13, 15))
		}},
		{"a lock is acquired after its owner's session was given up", "", func(h *history.History) {
			h.Operations = append(h.Operations, acquired(1, 1, 10, 11), acquired(2, 2, 13, 15))
			h.Sessions = []history.Session{{ID: 1, From: 5, To: 12, End: history.Closed}}
		}},
		{"an acquire that was given up may be in the way", "", func(h *history.History) {
			lost := acquired(1, 0, 10, 11)
			lost.Outcome = history.Unknown
			try := acquired(2, 0, 12, 13)
			try.Outcome = history.NotAcquired
			h.Operations = append(h.Operations, lost, try)
		}},
		{"nothing is in the way, and a try fails", "linear", func(h *history.History) {
			try := acquired(2, 0, 12, 13)
			try.Outcome = history.NotAcquired
			h.Operations = append(h.Operations, try)
		}},
		{"a STRICT read is stale", "linear", func(h *history.History) {
			h.Operations = append(h.Operations, acquired(1, 1, 10, 11), shown(12, 13, owned(1)))
		}},
		{"a RELAXED read is stale, within its bound", "", func(h *history.History) {
			read := shown(12, 13, owned(1))
			read.Age = 5
			h.Operations = append(h.Operations, acquired(1, 1, 10, 11), read)
		}},
		{"a RELAXED read is too old", "linear", func(h *history.History) {
			read := shown(22, 23, owned(1))
			read.Age = 5
			h.Operations = append(h.Operations, acquired(1, 1, 10, 11), read)
		}},
		{"a write with an old token takes effect", "linear", func(h *history.History) {
			h.Operations = append(h.Operations, acquired(1, 1, 10, 11), released(1, 1, 12, 13), history.Operation{
				Kind: history.Update, Semaphore: lock, Session: 1, Guard: 1, Data: "x", Called: 14, Returned: 15,
				Outcome: history.Done,
			})
		}},
	} {
		found, undecided := history.Check(made(c.change))
		if len(undecided) > 0 {
			t.Errorf("%s: undecided", c.name)
		}
		broken := make(map[string]bool)
		for _, f := range found {
			broken[f.Rule] = true
		}
		if c.rule == "" && len(found) > 0 || c.rule != "" && !broken[c.rule] {
			t.Errorf("%s: found %v, want %q", c.name, found, c.rule)
		}
	}
}

func TestAHistoryIsReadAsItWasSaved(t *testing.T) {
	r := newRecorder("a title")
	r.Grace(time.Second)
	r.Note("a note")
	over := r.Fault("a fault", -1)
	r.Operation(acquired(1, 2, r.Now(), 0))
	held := hold(1, 2, r.Now(), history.Never)
	state := owned(1, one(1, 2))
	for i, e := range []history.Entry{
		{Session: &history.Session{
			ID: 1, Node: "/jobs", Timeout: time.Second, To: 9, End: history.Closed, Detail: "by its user",
		}},
		{Hold: &held},
		{Write: &history.Write{Semaphore: lock, Order: 2, Accepted: true}},
		{View: &history.View{Watcher: 1, Semaphore: lock, State: state}},
	} {
		e.Number = uint64(i)
		r.Add(e)
	}
	r.Final(lock, owned(1), []int{1}, true)
	over()
	h := r.History()
	var file bytes.Buffer
	if err := h.Save(&file); err != nil {
		t.Fatal(err)
	}
	back, err := history.Load(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(h, back) {
		t.Errorf("saved %+v, read %+v", h, back)
	}
	if _, err := history.Load(strings.NewReader("{}\n")); err == nil {
		t.Error("a line with nothing in it was read")
	}
}
