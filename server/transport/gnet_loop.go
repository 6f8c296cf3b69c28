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

// gnetLoop has the common state of the connections of one event loop. Connections with bytes queued by foreign
// goroutines come to the loop's attention through the gnetLoop: by a single task in gnet's queue for all connections
// together, in place of a task for every write.
type gnetLoop struct {
	events gnet.EventLoop
	rounds Rounds

	mu       sync.Mutex
	ready    []*gnetConn // connections with something to flush, every connection at most once
	check    bool        // the time has come to look at the connections with unsent bytes
	round    bool        // the time for a round has come
	awaken   bool        // the loop will run a turn, or is running a turn and will look here again
	sealed   bool        // gnet's loop may be gone: never wake the loop again
	awakers  sync.WaitGroup
	interval *time.Timer
	rounder  *time.Timer

	// The next fields are touched on the loop only.
	turn     []*gnetConn // the connections of the turn under way
	unsent   []*gnetConn // connections with bytes still held by gnet
	batch    []*bytebufferpool.ByteBuffer
	room     []byte
	checking bool // interval runs
	conns    int  // open connections; without connections the loop need not come round
}

func newGnetLoop(events gnet.EventLoop) *gnetLoop {
	l := &gnetLoop{events: events, room: make([]byte, 0, loopWrite)}
	l.interval = time.AfterFunc(time.Hour, l.checkDue)
	l.interval.Stop()
	l.rounder = time.AfterFunc(time.Hour, l.roundDue)
	l.rounder.Stop()
	return l
}

// flush has c flushed on the loop. All goroutines may call flush, when c's outbox has asked for a sender.
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

// enter is called for a connection before the Handler sees it, and leave when it has closed.
func (l *gnetLoop) enter() {
	if l.conns++; l.conns == 1 {
		l.rounds.begin(time.Now())
		l.armRound()
	}
}

func (l *gnetLoop) leave() { l.conns-- }

// comeRound records that the loop runs, and arms the next round from now on: rounds do not pile up before a loop at a
// standstill.
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

// wakeAndUnlock is called with mu held. mu is released before the loop is woken, because waking is a system call.
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

// wake queues a turn with gnet, and gnet wakes the loop. The caller has counted awakers up before.
func (l *gnetLoop) wake() {
	defer l.awakers.Done()
	// The only error is a shut-down engine, and the engine is not shut down before seal.
	_ = l.events.Execute(context.Background(), l)
}

// seal makes sure no goroutine is waking the loop, now or later.
func (l *gnetLoop) seal() {
	l.mu.Lock()
	l.sealed = true
	l.interval.Stop()
	l.rounder.Stop()
	l.mu.Unlock()
	l.awakers.Wait()
}

// Run is one turn on the loop: a turn flushes ready connections. gnet runs all queued tasks, including tasks queued
// meanwhile, before gnet polls for arrived bytes. So a turn ends after flushesPerTurn flushes, and the next turn is
// queued from outside of the loop.
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

// watchUnsent has c looked at until gnet has sent all bytes, because gnet does not report the end of sending.
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

// checkUnsent looks at the connections with the longest wait for a look.
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
