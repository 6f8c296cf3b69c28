package server

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestOpeningsRestBetween: connections take turns, each with all waiting watches, and three quarters of the time are
// left to others.
func TestOpeningsRestBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o openings
		var order []string
		a, b := &conn{closed: true}, &conn{closed: true}
		const took = time.Millisecond
		began := time.Now()
		for _, x := range []struct {
			of   *conn
			name string
		}{{a, "a1"}, {b, "b1"}, {a, "a2"}, {b, "b2"}, {a, "a3"}} {
			o.add(x.of, func() { order = append(order, x.name); time.Sleep(took) })
		}
		done := make(chan struct{})
		o.add(b, func() { close(done) })
		<-done
		if got, want := fmt.Sprint(order), "[a1 a2 a3 b1 b2]"; got != want {
			t.Errorf("watches were opened in the order %v, want %v", got, want)
		}
		if got, want := time.Since(began), 5*4*took; got != want {
			t.Errorf("five watches took %v, want %v", got, want)
		}
	})
}

// TestOpeningsTakeABoundedNumberFromOneConnection: the caller opens further watches.
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
