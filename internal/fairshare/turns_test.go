package fairshare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// line is a set of calls that wait for turns, in fake time.
type line struct {
	t     *testing.T
	turns *Turns

	mu    sync.Mutex // guards the next fields
	order []string
	ends  map[string]func()
}

func newLine(t *testing.T, limit int, patience time.Duration) *line {
	return &line{t: t, turns: NewTurns(limit, patience), ends: make(map[string]func())}
}

// call waits for a turn; end ends the call.
func (l *line) call(name string, by Party) {
	go func() {
		turn, err := l.turns.Take(l.t.Context(), by)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil {
			l.order = append(l.order, name)
			l.ends[name] = turn.End
		}
	}()
	synctest.Wait()
}

func (l *line) end(name string) {
	l.mu.Lock()
	end := l.ends[name]
	delete(l.ends, name)
	l.mu.Unlock()
	end()
	synctest.Wait()
}

// endAll ends running calls until none is left.
func (l *line) endAll() {
	for {
		l.mu.Lock()
		running := slices.Collect(maps.Keys(l.ends))
		l.mu.Unlock()
		if len(running) == 0 {
			return
		}
		l.end(running[0])
	}
}

func (l *line) expect(what string, names ...string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.order, names) {
		l.t.Errorf("%s: %v ran, want %v", what, l.order, names)
	}
	l.order = nil
}

// TestPartiesTakeTurns: a party with one call waits for one call per other party, and halves, tokens and addresses
// alternate.
func TestPartiesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 1, 0)
		for i := range 4 {
			l.call(fmt.Sprint("x", i), party("", 1))
		}
		l.call("y", party("", 2))
		for i := range 3 {
			l.call(fmt.Sprint("a", i), party("a", 1))
		}
		l.call("a'", party("a", 2))
		l.call("b", party("b", 1))
		l.endAll()
		l.expect("all", strings.Fields("x0 x1 a0 y b x2 a' x3 a1 a2")...)
		if !l.turns.waiting.Empty() || len(l.turns.waiting.known) > 0 {
			t.Error("queues are left")
		}
	})
}

// TestNewcomerWaitsForOneCallOfEachParty, even if 300 addresses have hundreds of waiting calls.
func TestNewcomerWaitsForOneCallOfEachParty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const addresses = 300
		l := newLine(t, 1, 0)
		for i := range 3000 {
			go func() {
				turn, err := l.turns.Take(t.Context(), party("", i%addresses))
				if err != nil {
					return
				}
				time.Sleep(time.Millisecond)
				turn.End()
			}()
		}
		synctest.Wait()
		for _, by := range []Party{party("", addresses), party("token", 1)} {
			began := time.Now()
			turn, err := l.turns.Take(t.Context(), by)
			if err != nil {
				t.Fatal(err)
			}
			most := (addresses + 1) * time.Millisecond
			if by.Token != "" {
				most = 2 * time.Millisecond
			}
			if took := time.Since(began); took > most {
				t.Errorf("%v has waited for %v", by, took)
			}
			turn.End()
		}
		time.Sleep(time.Minute)
	})
}

// TestCallThatWaitsForOthersLetsMoreRun after patience.
func TestCallThatWaitsForOthersLetsMoreRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 1, time.Second)
		l.call("first", party("", 1))
		time.Sleep(900 * time.Millisecond)
		l.call("second", party("", 1))
		l.call("third", party("", 1))
		l.expect("within its time", "first")
		time.Sleep(101 * time.Millisecond)
		l.expect("later", "second")
		l.end("first")
		l.expect("the end of a call that is not counted any more")
		time.Sleep(time.Second)
		l.expect("a second later", "third")
		l.endAll()
		if n := l.turns.running.Len(); n != 0 {
			t.Errorf("%d run", n)
		}
	})
}

func TestCallThatGivesUpLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t, 1, 0)
		l.call("first", party("", 1))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("too long"))
		defer cancel()
		if _, err := l.turns.Take(ctx, party("", 2)); err == nil || err.Error() != "too long" {
			t.Errorf("it ends with %v", err)
		}
		l.call("second", party("", 3))
		l.endAll()
		l.expect("the others", "first", "second")
	})
}
