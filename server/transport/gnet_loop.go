//go:build linux || darwin || freebsd

package transport

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/panjf2000/gnet/v2"
	"github.com/valyala/bytebufferpool"
)

// gnetLoop is what the connections of one event loop share. It brings the connections that other
// goroutines have put something into to the loop's attention: one task in gnet's queue for all of them
// together, in place of one for each write.
type gnetLoop struct {
	events gnet.EventLoop
	rounds Rounds

	mu       sync.Mutex
	ready    []*gnetConn // connections with something to flush; each is here at most once
	check    bool        // it is time to look at the connections with unsent bytes
	round    bool        // it is time to come round
	awaken   bool        // the loop will run a turn, or is running one and will look here again
	sealed   bool        // gnet's loop may be gone: never wake it again
	awakers  sync.WaitGroup
	interval *time.Timer
	rounder  *time.Timer

	// What follows is touched on the loop only.
	turn     []*gnetConn // the connections of the turn under way
	unsent   []*gnetConn // connections whose bytes gnet still holds
	batch    []*bytebufferpool.ByteBuffer
	room     []byte
	checking bool // interval runs
	conns    int  // open ones; without any the loop need not come round
}

func newGnetLoop(events gnet.EventLoop) *gnetLoop {
	l := &gnetLoop{events: events, room: make([]byte, 0, loopWrite)}
	l.interval = time.AfterFunc(time.Hour, l.checkDue)
	l.interval.Stop()
	l.rounder = time.AfterFunc(time.Hour, l.roundDue)
	l.rounder.Stop()
	return l
}

// defaultLoops leaves half of the processors to the goroutines that do the work.
func defaultLoops() int {
	return max(runtime.GOMAXPROCS(0)/2, 1)
}

// flush has c flushed on the loop. Any goroutine may call it; c's outbox has asked for it.
func (l *gnetLoop) flush(c *gnetConn) {
	l.mu.Lock()
	l.ready = append(l.ready, c)
	l.wakeAndUnlock()
}

func (l *gnetLoop) checkDue() {
	l.mu.Lock()
	l.check = true
	l.wakeAndUnlock()
}

func (l *gnetLoop) roundDue() {
	l.mu.Lock()
	l.round = true
	l.wakeAndUnlock()
}

// enter is called for a connection before its handler sees it, and leave when it has closed.
func (l *gnetLoop) enter() {
	if l.conns++; l.conns == 1 {
		l.rounds.begin(time.Now())
		l.armRound()
	}
}

func (l *gnetLoop) leave() { l.conns-- }

// comeRound says that the loop runs, and arms the next round from there: rounds do not pile up before a
// loop that stands still.
func (l *gnetLoop) comeRound() {
	if l.conns > 0 {
		l.rounds.came(time.Now())
		l.armRound()
	}
}

func (l *gnetLoop) armRound() {
	l.mu.Lock()
	if !l.sealed {
		l.rounder.Reset(roundEvery)
	}
	l.mu.Unlock()
}

// wakeAndUnlock is called with mu held. The loop is woken with it released, as that is a system call.
func (l *gnetLoop) wakeAndUnlock() {
	if l.awaken || l.sealed {
		l.mu.Unlock()
		return
	}
	l.awaken = true
	l.awakers.Add(1)
	l.mu.Unlock()
	l.wake()
}

// wake queues a turn with gnet, which wakes the loop. awakers was counted up for it before.
func (l *gnetLoop) wake() {
	defer l.awakers.Done()
	// The only error is that the engine has been shut down, which cannot be before seal.
	_ = l.events.Execute(context.Background(), l)
}

// seal makes sure that no goroutine is waking the loop or will.
func (l *gnetLoop) seal() {
	l.mu.Lock()
	l.sealed = true
	l.interval.Stop()
	l.rounder.Stop()
	l.mu.Unlock()
	l.awakers.Wait()
}

// Run is one turn on the loop: it flushes connections that are ready. gnet runs all tasks that are queued,
// and those queued meanwhile, before it polls for arrived bytes, so a turn ends after flushesPerTurn and
// the next one is queued from outside.
func (l *gnetLoop) Run(context.Context) error {
	for room := flushesPerTurn; ; room -= max(len(l.turn), 1) {
		l.mu.Lock()
		check, round := l.check, l.round
		if len(l.ready) == 0 && !check && !round {
			l.awaken = false
			l.mu.Unlock()
			return nil
		}
		if room <= 0 {
			if !l.sealed {
				l.awakers.Add(1)
				go l.wake()
			}
			l.mu.Unlock()
			return nil
		}
		l.check, l.round = false, false
		n := min(len(l.ready), room)
		l.turn = append(l.turn[:0], l.ready[:n]...)
		l.ready = slices.Delete(l.ready, 0, n)
		l.mu.Unlock()

		if round {
			l.comeRound()
		}
		if check {
			l.checkUnsent()
		}
		for i, c := range l.turn {
			c.flush()
			l.turn[i] = nil
		}
	}
}

// watchUnsent has c looked at until gnet has sent all of it: gnet does not say.
func (l *gnetLoop) watchUnsent(c *gnetConn) {
	if !c.watched {
		c.watched = true
		l.unsent = append(l.unsent, c)
	}
	l.armCheck()
}

func (l *gnetLoop) armCheck() {
	if l.checking || len(l.unsent) == 0 {
		return
	}
	l.checking = true
	l.mu.Lock()
	if !l.sealed {
		l.interval.Reset(drainCheckInterval)
	}
	l.mu.Unlock()
}

// checkUnsent looks at the connections that have waited longest for a look.
func (l *gnetLoop) checkUnsent() {
	l.checking = false
	due := l.unsent[:min(len(l.unsent), drainChecks)]
	l.unsent = l.unsent[len(due):]
	for _, c := range due {
		c.watched = false
		c.recheck()
	}
	if len(l.unsent) == 0 {
		l.unsent = nil
	}
	l.armCheck()
}
