package pair

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/bench/internal/load"
)

// about fails the test unless a median is so much.
func about(t *testing.T, pairs []Pair, want, off float64) {
	t.Helper()
	got := Of(pairs, func(p Pair) float64 { return float64(p.Above) / float64(p.Below) })
	if least, most := got.MedianWithin(); math.Abs(got.At(0.5)-want) > off*want || least > most {
		t.Errorf("the median is %v, within %v and %v; want %v", got.At(0.5), least, most, want)
	}
}

// machine is a machine whose operations slow down with every turn, and after the other side's turn.
type machine struct {
	turns, each, afterOther float64
	last                    *fake
}

// fake is a side that takes no time.
type fake struct {
	on   *machine
	each time.Duration
}

func (f *fake) Turn(time.Duration) (done int64, took time.Duration, err error) {
	slower := 1 + f.on.turns*f.on.each
	if f.on.last != nil && f.on.last != f {
		slower *= f.on.afterOther
	}
	f.on.turns++
	f.on.last = f
	const operations = 100
	return operations, time.Duration(operations * slower * float64(f.each)), nil
}

func TestAKnownRatioIsMeasuredInWhateverOrder(t *testing.T) {
	for what, on := range map[string]machine{
		"the machine stays as it is":               {afterOther: 1},
		"it gets slower steadily":                  {each: 0.01, afterOther: 1},
		"it gets faster steadily":                  {each: -0.0001, afterOther: 1},
		"a turn after the other side's is slower":  {afterOther: 1.5},
		"slower steadily, and after the other one": {each: 0.001, afterOther: 1.5},
	} {
		t.Run(what, func(t *testing.T) {
			for _, want := range []float64{1, 1.3, 0.8} {
				m := on
				below := &fake{&m, time.Millisecond}
				above := &fake{&m, time.Duration(want * float64(time.Millisecond))}
				pairs, err := Measure(t.Context(), 200, time.Second, below, above)
				if err != nil {
					t.Fatal(err)
				}
				about(t, pairs, want, 0.002)
			}
		})
	}
}

// turns records the turns' order.
type turns struct {
	Side
	now  *atomic.Pointer[string]
	name string
}

func (t turns) Turn(d time.Duration) (int64, time.Duration, error) {
	t.now.Store(&t.name)
	return t.Side.Turn(d)
}

func TestCallersWorkInTheirTurnsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Pointer[string]
		sleeps := func(name string, d time.Duration) load.Operation {
			return func(context.Context) error {
				if *now.Load() != name {
					t.Errorf("%s began when it was the turn of %s", name, *now.Load())
				}
				time.Sleep(d)
				return nil
			}
		}
		start := func(name string, each ...time.Duration) turns {
			var operations []load.Operation
			for _, d := range each {
				operations = append(operations, sleeps(name, d))
			}
			callers := Start(t.Context(), operations)
			t.Cleanup(callers.Stop)
			return turns{callers, &now, name}
		}
		one := start("one", 200*time.Microsecond)
		two := start("two", 600*time.Microsecond, 600*time.Microsecond) // together one in 300
		pairs, err := Measure(t.Context(), 20, 50*time.Millisecond, one, two)
		if err != nil {
			t.Fatal(err)
		}
		about(t, pairs, 1.5, 0.02)
	})
}

func TestTheFloorHasBothPartsAndNotTheWayBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := 0
		bare := &Bare{
			Ready:   func(context.Context) error { ready++; return nil },
			Propose: func(context.Context) error { time.Sleep(200 * time.Microsecond); return nil },
			Ctx:     t.Context(),
		}
		asks, asked := io.Pipe()
		answers, answered := io.Pipe()
		ended := make(chan error)
		go func() { ended <- Obey(late{bare}, asks, answered) }()
		floor := &Floor{
			Log:  newChild(asked, answers, func() error { return <-ended }),
			Echo: func(context.Context) error { time.Sleep(50 * time.Microsecond); return nil },
			Ctx:  t.Context(),
		}
		done, took, err := floor.Turn(100 * time.Millisecond)
		if each := took / time.Duration(max(done, 1)); err != nil || each != 250*time.Microsecond || ready != 1 {
			t.Errorf("each of %d took %v, %v; it was made ready %d times", done, each, err, ready)
		}
		if err := floor.Log.(*Child).Stop(); err != nil {
			t.Error(err)
		}
	})
}

// late responds a while after its turn.
type late struct{ Side }

func (l late) Turn(d time.Duration) (int64, time.Duration, error) {
	done, took, err := l.Side.Turn(d)
	time.Sleep(time.Millisecond)
	return done, took, err
}

func TestWhatFailsEndsTheMeasurement(t *testing.T) {
	failed := errors.New("failed")
	callers := Start(t.Context(), []load.Operation{func(context.Context) error { return failed }})
	defer callers.Stop()
	good := &fake{on: &machine{afterOther: 1}, each: time.Millisecond}
	if _, err := Measure(t.Context(), 3, time.Millisecond, good, callers); !errors.Is(err, failed) {
		t.Errorf("it ended with %v", err)
	}
	if err := Obey(good, strings.NewReader("soon\n"), io.Discard); err == nil {
		t.Error("what is no time was taken for a turn")
	}
	if _, err := Launch(t.Context(), "/nowhere/at/all"); err == nil {
		t.Error("a program that is not there was started")
	}
}

func TestQuantiles(t *testing.T) {
	var pairs []Pair
	for i := range 101 {
		pairs = append(pairs, Pair{Below: time.Duration((i * 37) % 101)})
	}
	q := Of(pairs, func(p Pair) float64 { return float64(p.Below) })
	least, most := q.MedianWithin()
	if q.At(0.25) != 25 || q.At(0.5) != 50 || q.At(1) != 100 || least != 40 || most != 60 {
		t.Errorf("it has %v, %v, %v and is within %v and %v", q.At(0.25), q.At(0.5), q.At(1), least, most)
	}
}
