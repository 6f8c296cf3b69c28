package watch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/server/handle"
)

// silent is a connection that discards everything.
type silent struct {
	handle.Connection
	_ int // zero-size connections could share an address
}

func (*silent) Flush(bool) {}

// TestOpeningsRestBetween: connections take turns, each with all its waiting watches, and leave three quarters of the
// time to other work.
func TestOpeningsRestBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(nil)
		var order []string
		a, b := &silent{}, &silent{}
		const took = time.Millisecond
		began := time.Now()
		for _, x := range []struct {
			of   *silent
			name string
		}{{a, "a1"}, {b, "b1"}, {a, "a2"}, {b, "b2"}, {a, "a3"}} {
			o.Add(x.of, func() { order = append(order, x.name); time.Sleep(took) })
		}
		done := make(chan struct{})
		o.Add(b, func() { close(done) })
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
		o := New(nil)
		held, a := make(chan struct{}), &silent{}
		o.Add(&silent{}, func() { <-held })
		opened := 0
		for range mostUnopened + 3 {
			o.Add(a, func() { opened++ })
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
