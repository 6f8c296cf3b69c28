//go:build linux

package chaos

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/signalbox/signalbox/server/history"
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
