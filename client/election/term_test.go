package election_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/election"
)

func TestATermTellsWhetherItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a := g.candidate(t.Context(), "a", g.Session())
		first := <-a.terms
		if err := first.Err(); err != nil {
			t.Errorf("while it goes on: %v", err)
		}
		first.Resign()
		if err := first.Err(); !errors.Is(err, election.Resign) {
			t.Errorf("after it was given up: %v", err)
		}
		second := <-a.terms
		if err := second.Err(); err != nil {
			t.Errorf("while the next one goes on: %v", err)
		}
		g.Destroy(a.s)
		<-second.Context.Done()
		if err := second.Err(); !errors.Is(err, election.ErrLost) || !errors.Is(err, client.ErrSessionExpired) {
			t.Errorf("after it was lost: %v", err)
		}
	})
}
