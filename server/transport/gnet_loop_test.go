//go:build linux || darwin || freebsd

package transport

import (
	"context"
	"testing"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// wokenLoop is a gnet event loop that records wakeups only.
type wokenLoop struct {
	gnet.EventLoop
	woken chan gnet.Runnable
}

func (l *wokenLoop) Execute(_ context.Context, task gnet.Runnable) error {
	l.woken <- task
	return nil
}

// idle says whether no goroutine has woken the loop or is about to.
func (l *wokenLoop) idle(loop *gnetLoop) bool {
	loop.awakers.Wait()
	return len(l.woken) == 0
}

func TestATurnOfTheLoopEndsSoThatItCanRead(t *testing.T) {
	const ready = 3*flushesPerTurn + 7
	events := &wokenLoop{woken: make(chan gnet.Runnable, 10)}
	loop := newGnetLoop(events)
	for range ready {
		loop.flush(&gnetConn{loop: loop, closed: true})
	}
	for turn, left := 0, ready; left > 0; turn++ {
		if err := (<-events.woken).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		left -= min(left, flushesPerTurn)
		if got := len(loop.ready); got != left {
			t.Fatalf("%d connections wait after turn %d, not %d", got, turn, left)
		}
	}
	if !events.idle(loop) {
		t.Error("the loop is woken with nothing to do")
	}
	loop.flush(&gnetConn{loop: loop, closed: true})
	loop.flush(&gnetConn{loop: loop, closed: true})
	loop.awakers.Wait()
	if n := len(events.woken); n != 1 {
		t.Errorf("the loop was woken %d times for two connections", n)
	}
}

func TestASealedLoopIsNeverWoken(t *testing.T) {
	events := &wokenLoop{woken: make(chan gnet.Runnable, 10)}
	loop := newGnetLoop(events)
	for range 2 * flushesPerTurn {
		loop.flush(&gnetConn{loop: loop, closed: true})
	}
	task := <-events.woken
	loop.watchUnsent(&gnetConn{loop: loop})
	loop.seal()
	// A queued turn may still run; it must not request another.
	if err := task.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	loop.flush(&gnetConn{loop: loop, closed: true})
	loop.checkDue()
	loop.watchUnsent(&gnetConn{loop: loop})
	time.Sleep(2 * drainCheckInterval)
	if !events.idle(loop) {
		t.Error("the loop was woken, and its descriptor may be another file by now")
	}
}
