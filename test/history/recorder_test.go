package history_test

import (
	"testing"

	"github.com/signalbox/signalbox/test/history"
)

// A client that is started again has the number of the one that died.
func TestWhoIsBuriedBelievesInNothing(t *testing.T) {
	r := history.NewRecorder("")
	mine, other := history.Semaphore{Name: "mine"}, history.Semaphore{Name: "other"}
	closed := r.Session(history.Session{ID: 1, Client: 1})
	r.Session(history.Session{ID: 2, Client: 1})
	r.Session(history.Session{ID: 3, Client: 2})
	released := r.Hold(history.Hold{Semaphore: mine, Session: 2, Order: 1})
	r.Hold(history.Hold{Semaphore: mine, Session: 2, Order: 2})
	r.Hold(history.Hold{Semaphore: other, Session: 3, Order: 3})
	closed(history.Closed, "by its user")
	released("released")
	died := r.Now()
	r.Bury(1)
	r.Session(history.Session{ID: 4, Client: 1})
	h := r.History()
	for i, want := range []struct{ ended, buried bool }{{true, false}, {true, true}, {false, false}, {false, false}} {
		s := h.Sessions[i]
		if (s.To != history.Never) != want.ended || (s.To > died && s.To != history.Never) != want.buried {
			t.Errorf("session %d ended at %v: %s %s; the client died after %v", s.ID, s.To, s.End, s.Detail, died)
		}
	}
	for i, want := range []struct{ ended, buried bool }{{true, false}, {true, true}, {false, false}} {
		x := h.Holds[i]
		if (x.To != history.Never) != want.ended || (x.To > died && x.To != history.Never) != want.buried {
			t.Errorf("hold %d ended at %v: %s; the client died after %v", x.Order, x.To, x.Why, died)
		}
	}
}
