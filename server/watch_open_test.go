package server

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestOpeningsRestBetween: connections take turns, a connection with all its watches, and after every quarter of a
// millisecond of work the processors are left to others.
func TestOpeningsRestBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		var worked []time.Duration
		o := openings{pause: func(w time.Duration) { worked = append(worked, w) }}
		a, b := &conn{closed: true}, &conn{closed: true}
		took := openingsWork * 2 / 5
		for i, c := range []*conn{a, b, a, b, a} {
			name := fmt.Sprint(map[*conn]string{a: "a", b: "b"}[c], i)
			o.add(c, func() { order = append(order, name); time.Sleep(took) })
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := fmt.Sprint(order), "[a0 a2 a4 b1 b3]"; got != want {
			t.Errorf("watches were opened in the order %v, want %v", got, want)
		}
		if got, want := fmt.Sprint(worked), fmt.Sprint([]time.Duration{3 * took}); got != want {
			t.Errorf("pauses after work of %v, want %v", got, want)
		}
		o.add(a, func() { order = nil })
		synctest.Wait()
		if order != nil {
			t.Error("a watch that comes later is not opened")
		}
	})
}

// TestOpeningsTakeABoundedNumberFromOneConnection: the caller opens what is too much.
func TestOpeningsTakeABoundedNumberFromOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o openings
		held, a := make(chan struct{}), &conn{closed: true}
		o.add(&conn{closed: true}, func() { <-held })
		opened := 0
		for range mostUnopened + 3 {
			o.add(a, func() { opened++ })
		}
		if opened != 3 {
			t.Errorf("%d watches were opened by the caller, want 3", opened)
		}
		close(held)
		synctest.Wait()
		if opened != mostUnopened+3 {
			t.Errorf("%d watches were opened, want %d", opened, mostUnopened+3)
		}
	})
}

// TestOpeningsLeaveMostOfTheProcessors: of two processors a quarter of one opens watches, of eight one does.
func TestOpeningsLeaveMostOfTheProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for processors, want := range map[int]time.Duration{1: 7, 2: 3, 4: 1, 8: 0, 16: 0} {
		runtime.GOMAXPROCS(processors)
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			pauseOpenings(time.Millisecond)
			if got, want := time.Since(began), want*time.Millisecond; got != want {
				t.Errorf("with %d processors a pause of %v after 1 ms of work, want %v", processors, got, want)
			}
		})
	}
}
