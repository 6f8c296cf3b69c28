package history_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/test/history"
)

func newRecorder(title string) *history.Recorder {
	began := time.Now()
	return history.NewRecorder(title, history.NewClock(func() history.Time { return time.Since(began) }))
}

func TestAnEntryReplacesTheOneBeforeUnderItsNumber(t *testing.T) {
	r := newRecorder("")
	begun := history.Operation{Kind: history.Update, Semaphore: lock, Called: 1}
	done := begun
	done.Returned, done.Outcome = 2, history.Done
	r.Add(history.Entry{Client: 1, Number: 1, Operation: &begun})
	r.Add(history.Entry{Client: 1, Number: 1, Operation: &done})
	r.Add(history.Entry{Client: 2, Number: 1, Operation: &begun})
	h := r.History()
	if len(h.Operations) != 2 || h.Operations[0].Outcome != history.Done || h.Operations[1].Outcome != history.Unknown {
		t.Errorf("one operation was done, and the outcome of the other one never reported: %+v", h.Operations)
	}
}

// TestAClientThatDiedBelievesInNothing: a restarted client has the client number of its predecessor, but none of its
// beliefs.
func TestAClientThatDiedBelievesInNothing(t *testing.T) {
	r := newRecorder("")
	other := history.Semaphore{Name: "other"}
	session := func(client int, number, id uint64, to history.Time) {
		r.Add(history.Entry{Client: client, Number: number, Session: &history.Session{
			ID: id, Client: client, From: 1, To: to,
		}})
	}
	hold := func(client int, number, session, order uint64, of history.Semaphore, to history.Time) {
		r.Add(history.Entry{Client: client, Number: number, Hold: &history.Hold{
			Semaphore: of, Session: session, Order: order, From: history.Time(order), To: to,
		}})
	}
	session(1, 1, 1, 5)
	session(1, 2, 2, history.Never)
	session(2, 1, 3, history.Never)
	hold(1, 3, 2, 1, lock, 5)
	hold(1, 4, 2, 2, lock, history.Never)
	hold(2, 2, 3, 3, other, history.Never)
	r.ClientDied(1, 7)
	session(1, 5, 4, history.Never)
	h := r.History()
	for i, want := range []history.Time{5, 7, history.Never, history.Never} {
		if s := h.Sessions[i]; s.To != want {
			t.Errorf("session %d ended at %v: %s %s; want %v", s.ID, s.To, s.End, s.Detail, want)
		}
	}
	for i, want := range []history.Time{5, 7, history.Never} {
		if x := h.Holds[i]; x.To != want {
			t.Errorf("hold %d ended at %v: %s; want %v", x.Order, x.To, x.Why, want)
		}
	}
}

func TestTheStoreAcceptsNoTokenBelowOneThatItHasAccepted(t *testing.T) {
	r := newRecorder("")
	for i, w := range []struct {
		of       string
		token    uint64
		accepted bool
	}{
		{"a", 5, true}, {"a", 5, true}, {"b", 3, true}, {"a", 4, false}, {"a", 6, true}, {"a", 5, false},
		{"b", 4, true},
	} {
		if _, accepted := r.Write(history.Semaphore{Name: w.of}, w.token); accepted != w.accepted {
			t.Errorf("write %d, %v with token %d: %v, want %v", i, w.of, w.token, accepted, w.accepted)
		}
	}
}

func TestAllClientsHaveToAgree(t *testing.T) {
	r := newRecorder("")
	state := history.State{Exists: true, Limit: 1, Data: "x", Owners: []history.Link{{Session: 1, Order: 2, Count: 1}}}
	agrees := func(want bool, when string) {
		t.Helper()
		if have := r.Agrees(lock, state, []int{9}); have != want {
			t.Errorf("%s: they agree: %v", when, have)
		}
	}
	agrees(false, "the owner does not know it")
	held := history.Hold{Semaphore: lock, Session: 1, Order: 2, Count: 1, To: history.Never}
	r.Add(history.Entry{Number: 1, Hold: &held})
	agrees(false, "the watcher has seen nothing")
	seen := history.View{Watcher: 9, Semaphore: lock, State: history.State{Exists: true}}
	r.Add(history.Entry{Number: 2, View: &seen})
	agrees(false, "the watcher has seen something else")
	seen.State = state
	r.Add(history.Entry{Number: 3, View: &seen})
	agrees(true, "all know")
	more := held
	more.Order = 3
	r.Add(history.Entry{Number: 4, Hold: &more})
	agrees(false, "another client believes that it owns too")
	more.To = 5
	r.Add(history.Entry{Number: 4, Hold: &more})
	agrees(true, "it does not any more")
	state.Waiters = []history.Link{{Session: 2, Order: 4, Count: 1}}
	agrees(false, "a client waits")
}

// TestAnOwnerOfTheFinalStateHadNotEndedThen: clients with stalled processes report ends after the final state was read,
// and do not know when they happened.
func TestAnOwnerOfTheFinalStateHadNotEndedThen(t *testing.T) {
	for _, agreed := range []bool{true, false} {
		r := newRecorder("")
		session := history.Session{ID: 1, Node: lock.Node, From: 1, To: history.Never}
		held := history.Hold{Semaphore: lock, Session: 1, Order: 2, Count: 1, From: 1, To: history.Never}
		report := func() {
			r.Add(history.Entry{Number: 1, Session: &session})
			r.Add(history.Entry{Number: 2, Hold: &held})
		}
		report()
		state := history.State{Exists: true, Limit: 1, Owners: []history.Link{{Session: 1, Order: 2, Count: 1}}}
		r.Final(lock, state, nil, agreed)
		session.To, session.End, held.To = 5, history.Silent, 5
		report()
		h := r.History()
		if found := history.Finals(h); (len(found) == 0) != agreed {
			t.Errorf("all agreed on the final state: %v, and it breaks its rule: %q", agreed, found)
		}
	}
}

func TestSomeNotesCountUnlessEveryClientIsDisturbed(t *testing.T) {
	for name, c := range map[string]struct {
		fault history.Fault
		want  int
	}{
		"at that time": {history.Fault{From: 2, To: 6, Client: -1}, 1},
		"before":       {history.Fault{From: 2, To: 4, Client: -1}, 2},
		"after":        {history.Fault{From: 9, To: 12, Client: -1}, 2},
		"another one":  {history.Fault{From: 2, To: 6, Client: 1}, 2},
	} {
		r := newRecorder("")
		r.Add(history.Entry{Fault: &c.fault})
		r.Add(history.Entry{Note: &history.Note{At: 8, Text: "late", Since: 5}})
		r.Add(history.Entry{Note: &history.Note{At: 8, Text: "wrong"}})
		if notes := r.History().Notes; len(notes) != c.want {
			t.Errorf("%s: %q count, want %d", name, notes, c.want)
		}
	}
}
