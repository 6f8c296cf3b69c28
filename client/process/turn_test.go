package process

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
)

// TestAFunctionThatWaitsInSeveralGoroutines gets its turn back when all its goroutines continue.
func TestAFunctionThatWaitsInSeveralGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := newTurn()
		ctx, h := turn.hold(context.Background())
		first, second := make(chan struct{}), make(chan struct{})
		var waits sync.WaitGroup
		for _, c := range []chan struct{}{first, second} {
			waits.Go(func() { Yield(ctx, func() { <-c }) })
		}
		synctest.Wait()
		turn.take() // another function runs
		close(first)
		synctest.Wait()
		close(second)
		synctest.Wait()
		if len(h.lock) == 0 {
			t.Error("the function goes on while another one runs")
		}
		turn.give()
		waits.Wait()
		if len(turn) == 0 {
			t.Error("the function goes on without the turn")
		}
		h.end()
		if len(turn) != 0 {
			t.Error("the turn was not given back")
		}
	})
}

// TestWhatIsLeftOfAFunctionTakesNoTurn: goroutines that still wait after the function's return do not take the turn.
func TestWhatIsLeftOfAFunctionTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := newTurn()
		ctx, h := turn.hold(context.Background())
		wake := make(chan struct{})
		var left sync.WaitGroup
		left.Go(func() { Yield(ctx, func() { <-wake }) })
		synctest.Wait()
		h.end()
		turn.take()
		close(wake)
		left.Wait()
		turn.give()
		Yield(ctx, func() {})
		Yield(context.Background(), func() {})
		if len(turn) != 0 {
			t.Error("the turn was not given back")
		}
	})
}
