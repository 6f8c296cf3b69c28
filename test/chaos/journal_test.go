//go:build linux

package chaos

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/signalbox/signalbox/test/history"
)

var lock = history.Semaphore{Node: "/chaos/test", Name: "lock"}

func TestWhatIsToldAgainTakesThePlaceOfWhatWasToldBefore(t *testing.T) {
	j := newJournal(newClock(machineTime()))
	begun := history.Operation{Kind: history.Update, Semaphore: lock, Called: 1}
	done := begun
	done.Returned, done.Outcome = 2, history.Done
	j.take(entry{Client: 1, Number: 1, Operation: &begun})
	j.take(entry{Client: 1, Number: 1, Operation: &done})
	j.take(entry{Client: 2, Number: 1, Operation: &begun})
	h := j.history("", grace)
	if len(h.Operations) != 2 || h.Operations[0].Outcome != history.Done || h.Operations[1].Outcome != history.Unknown {
		t.Errorf("one operation was done, and another one not heard of again: %+v", h.Operations)
	}
}

func TestTheKilledBelieveInNothing(t *testing.T) {
	j := newJournal(newClock(machineTime()))
	for client := range 2 {
		j.take(entry{Client: client, Number: 1, Session: &history.Session{ID: uint64(client + 1), From: 1, To: history.Never}})
		j.take(entry{Client: client, Number: 2, Hold: &history.Hold{Semaphore: lock, Session: uint64(client + 1), From: 2, To: history.Never}})
	}
	j.bury(0, 7)
	h := j.history("", grace)
	for i, want := range []history.Time{7, history.Never} {
		if h.Sessions[i].To != want || h.Holds[i].To != want {
			t.Errorf("client %d has its session until %v and holds until %v, want %v", i, h.Sessions[i].To, h.Holds[i].To, want)
		}
	}
}

func TestTheStoreTakesNoTokenBelowOneThatItHasTaken(t *testing.T) {
	j := newJournal(newClock(machineTime()))
	for _, c := range []struct {
		token    uint64
		accepted bool
	}{{3, true}, {3, true}, {5, true}, {4, false}, {6, true}} {
		if _, accepted := j.write(lock, c.token); accepted != c.accepted {
			t.Errorf("%d was accepted: %v", c.token, accepted)
		}
	}
}

func TestEverybodyHasToAgree(t *testing.T) {
	j := newJournal(newClock(machineTime()))
	state := history.State{Exists: true, Limit: 1, Data: "x", Owners: []history.Link{{Session: 1, Order: 2, Count: 1}}}
	agrees := func(want bool, when string) {
		t.Helper()
		if have := j.agrees(lock, state, []int{9}); have != want {
			t.Errorf("%s: they agree: %v", when, have)
		}
	}
	agrees(false, "nobody knows that he owns")
	held := history.Hold{Semaphore: lock, Session: 1, Order: 2, Count: 1, To: history.Never}
	j.take(entry{Number: 1, Hold: &held})
	agrees(false, "the watcher has seen nothing")
	j.take(entry{Number: 2, View: &history.View{Watcher: 9, Semaphore: lock, State: history.State{Exists: true}}})
	agrees(false, "the watcher has seen something else")
	j.take(entry{Number: 3, View: &history.View{Watcher: 9, Semaphore: lock, State: state}})
	agrees(true, "all know")
	more := held
	more.Order = 3
	j.take(entry{Number: 4, Hold: &more})
	agrees(false, "somebody believes that he owns too")
	more.To = 5
	j.take(entry{Number: 4, Hold: &more})
	agrees(true, "he does not any more")
	state.Waiters = []history.Link{{Session: 2, Order: 4, Count: 1}}
	agrees(false, "somebody waits")
}

// TestACrewIsToldAndSays lets a run and a crew's process speak with each other, without the process.
func TestACrewIsToldAndSays(t *testing.T) {
	var out bytes.Buffer
	p := newPipe(&out)
	p.take(entry{Client: 3, Number: 1, Hold: &history.Hold{Semaphore: lock, To: history.Never}})
	var s said
	if err := json.NewDecoder(&out).Decode(&s); err != nil || s.Entry == nil || s.Entry.Client != 3 || s.Entry.Hold.To != history.Never {
		t.Errorf("the run hears %+v, %v", s, err)
	}
	asked, answers := io.Pipe()
	p = newPipe(answers)
	go func() {
		var s said
		_ = json.NewDecoder(asked).Decode(&s)
		p.answered(answer{Number: s.Write.Number, At: 7, Accepted: s.Write.Token == 5})
	}()
	if at, accepted := p.write(lock, 5); at != 7 || !accepted {
		t.Errorf("the crew hears %v, %v", at, accepted)
	}
	if err := Serve(bytes.NewReader(nil), io.Discard); err == nil {
		t.Error("a crew that nobody speaks to any more goes on")
	}
}

// TestWhoOwnedWhenTheEndWasReadHadNotEndedThen lets clients tell after the end was read that something ended before, as
// they do that stood still in between and do not know when it did.
func TestWhoOwnedWhenTheEndWasReadHadNotEndedThen(t *testing.T) {
	for _, agreed := range []bool{true, false} {
		j := newJournal(newClock(machineTime()))
		session := history.Session{ID: 1, Node: lock.Node, From: 1, To: history.Never}
		held := history.Hold{Semaphore: lock, Session: 1, Order: 2, Count: 1, From: 1, To: history.Never}
		tell := func() {
			j.take(entry{Number: 1, Session: &session})
			j.take(entry{Number: 2, Hold: &held})
		}
		tell()
		j.final(lock, history.State{Exists: true, Limit: 1, Owners: []history.Link{{Session: 1, Order: 2, Count: 1}}}, nil, agreed)
		session.To, session.End, held.To = 5, history.Silent, 5
		tell()
		h := j.history("", grace)
		if found := history.Finals(h); (len(found) == 0) != agreed {
			t.Errorf("everybody agreed on the end: %v, and it breaks its rule: %q", agreed, found)
		}
	}
}

func TestSomeNotesCountUnlessEverybodyIsHindered(t *testing.T) {
	for name, c := range map[string]struct {
		fault history.Fault
		want  int
	}{
		"at that time": {history.Fault{From: 2, To: 6, Client: -1}, 1},
		"before":       {history.Fault{From: 2, To: 4, Client: -1}, 2},
		"after":        {history.Fault{From: 9, To: 12, Client: -1}, 2},
		"another one":  {history.Fault{From: 2, To: 6, Client: 1}, 2},
	} {
		j := newJournal(newClock(machineTime()))
		j.take(entry{Fault: &c.fault})
		j.take(entry{Note: &note{At: 8, Text: "late", Since: 5}})
		j.take(entry{Note: &note{At: 8, Text: "wrong"}})
		if notes := j.history("", grace).Notes; len(notes) != c.want {
			t.Errorf("%s: %q count, want %d", name, notes, c.want)
		}
	}
}
