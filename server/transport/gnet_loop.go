//go:build linux || darwin || freebsd

package transport

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/panjf2000/gnet/v2"
	"github.com/valyala/bytebufferpool"
)

// gnetLoop is the state shared by an event loop's connections. If other goroutines queue bytes, the gnetLoop notifies
// the loop: with a single task in gnet's queue for all connections, instead of a task per write.
type gnetLoop struct {
	events gnet.EventLoop
	rounds Rounds

	mu       sync.Mutex
	ready    []*gnetConn // connections with something to flush, every at most once
	check    bool        // it is time to check the connections with unsent bytes
	round    bool        // it is time for a round
	awaken   bool        // the loop will run a turn, or is running one and will check here again
	sealed   bool        // gnet's loop may have ended: never wake it again
	awakers  sync.WaitGroup
	interval *time.Timer
	rounder  *time.Timer

	// The following fields are used on the loop only.
	turn     []*gnetConn // connections in the current turn
	unsent   []*gnetConn // connections for which gnet still holds bytes
	batch    []*bytebufferpool.ByteBuffer
	room     []byte
	checking bool // interval is running
	conns    int  // open connections; without any, no rounds are needed
}

func newGnetLoop(events gnet.EventLoop) *gnetLoop {
	l := &gnetLoop{events: events, room: make([]byte, 0, loopWrite)}
	l.interval = time.AfterFunc(time.Hour, l.checkDue)
	l.interval.Stop()
	l.rounder = time.AfterFunc(time.Hour, l.roundDue)
	l.rounder.Stop()
	return l
}

// flush makes the loop flush c. Safe for concurrent use, after c's outbox has asked for a sender.
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

// enter is called for a connection before the Handler sees it; leave is called after it has closed.
func (l *gnetLoop) enter() {
	if l.conns++; l.conns == 1 {
		l.rounds.begin(time.Now())
		l.armRound()
	}
}

func (l *gnetLoop) leave() { l.conns-- }

// comeRound records that the loop is running, and schedules the next round from now on, so that rounds do not
// accumulate on a stalled loop.
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

// wakeAndUnlock is called with mu held. wakeAndUnlock releases mu before it wakes the loop, because waking is a
// system call.
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

// wake queues a turn with gnet, which wakes the loop. The caller has already incremented awakers.
func (l *gnetLoop) wake() {
	defer l.awakers.Done()
	// The only error is a stopped engine, and the engine is not stopped before seal.
	_ = l.events.Execute(context.Background(), l)
}

// seal ensures that no goroutine wakes the loop, now or later.
func (l *gnetLoop) seal() {
	l.mu.Lock()
	l.sealed = true
	l.interval.Stop()
	l.rounder.Stop()
	l.mu.Unlock()
	l.awakers.Wait()
}

// Run is one turn on the loop, which flushes ready connections. gnet runs all queued tasks, including those queued
// meanwhile, before it polls for arrived bytes. So a turn ends after flushesPerTurn flushes, and the next turn is
// queued from outside the loop.
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

// watchUnsent makes the loop check c until gnet has sent all bytes, because gnet does not report when sending ends.
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

// checkUnsent checks the connections that have waited longest for a check.
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
