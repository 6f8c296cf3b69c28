package load

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// gate lets all waiting parties through once all have come, repeatedly.
type gate struct {
	mu   sync.Mutex
	come int
	open chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) pass(context.Context) error {
	g.mu.Lock()
	open := g.open
	if g.come++; g.come == Parties {
		g.come, g.open = 0, make(chan struct{})
		close(open)
	}
	g.mu.Unlock()
	<-open
	return nil
}

func TestRoundsOfADoubleBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := newGate(), newGate()
		parties := make([]Party, Parties)
		for i := range parties {
			parties[i] = Party{Enter: in.pass, Leave: out.pass}
		}
		round := Rounds(parties)
		for range 100 {
			if err := round(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		refused := errors.New("refused")
		parties[1].Leave = func(context.Context) error { return refused }
		if err := round(t.Context()); !errors.Is(err, ErrBroken) || !errors.Is(err, refused) {
			t.Errorf("a round whose party cannot leave ended with %v", err)
		}
		_ = out.pass(t.Context()) // in the party's place
	})
}

func TestABarrierThatIsPassedTooEarlyIsNoticed(t *testing.T) {
	open := func(context.Context) error { return nil }
	var r round
	err := r.pass(t.Context(), Party{Enter: open, Leave: open}, Parties)
	if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "1 of 3 parties have come") {
		t.Errorf("the first is in: %v", err)
	}
	r.come.Store(Parties - 1)
	err = r.pass(t.Context(), Party{Enter: open, Leave: open}, Parties)
	if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "1 of 3 parties have gone") {
		t.Errorf("the first is out: %v", err)
	}
}
