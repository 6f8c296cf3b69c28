//go:build linux

package survival_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// load is clients that lock, write, and unlock.
type load struct {
	t       *testing.T
	record  *record
	hosts   []string
	path    string
	timeout time.Duration
	enough  chan struct{} // closed when no client begins another round
	// anew is set if shards are rebuilt: owners may lose their holding, and waiters their queue position.
	anew    atomic.Bool
	workers sync.WaitGroup
}

// newLoad starts `each` clients for each of the locks.
func newLoad(t *testing.T, hosts []*host, path string, timeout time.Duration, locks, each int) *load {
	t.Helper()
	return newLoadAt(t, addresses(hosts), path, timeout, locks, each)
}

// newLoadAt is newLoad for hosts that need not run yet.
func newLoadAt(t *testing.T, addresses []string, path string, timeout time.Duration, locks, each int) *load {
	t.Helper()
	l := &load{
		t: t, record: newRecord(t), hosts: addresses, path: path, timeout: timeout, enough: make(chan struct{}),
	}
	for lock := range locks {
		for n := range each {
			l.workers.Go(func() { l.work(fmt.Sprintf("lock-%d", lock), fmt.Sprintf("data-%d-%d", lock, n)) })
		}
	}
	t.Cleanup(func() {
		l.record.stop()
		l.workers.Wait()
	})
	l.progress(2)
	return l
}

// work is the loop of one client; when its session ends, it starts a new session.
func (l *load) work(lock, data string) {
	value := 0
	for incarnation := 0; !l.over(); incarnation++ {
		c, err := start(l.hosts, l.path, l.timeout, l.record)
		if err != nil {
			if !l.record.over() {
				l.record.wrong("start a session: %v", err)
			}
			return
		}
		err = l.runRounds(c, lock, data, incarnation, &value)
		if why := c.ended(); why != "" {
			l.record.ended(c.id, why)
		} else if err != nil && !l.record.over() {
			l.record.wrong("session %x: %v", c.id, err)
		}
		c.disconnect()
		if err != nil && !errors.Is(err, errEnded) {
			return
		}
	}
}

func (l *load) over() bool {
	select {
	case <-l.enough:
		return true
	default:
		return l.record.over()
	}
}

func (l *load) runRounds(c *client, lock, data string, incarnation int, value *int) error {
	for round := 0; !l.over(); round++ {
		order, err := c.acquire(lock)
		if l.isTaken(err) {
			continue
		}
		if err != nil {
			return err
		}
		h := hold{order: order, from: time.Now(), session: c.id}
		if round%5 == 0 {
			err = l.write(c, data, incarnation, round, value)
		}
		if err == nil {
			time.Sleep(rand.N(5 * time.Millisecond))
			h.to = time.Now()
			err = c.release(lock, order)
		}
		if err != nil {
			// The time of ownership is unknown: at most the time of belief. A rebuilt shard reports the end of a
			// session before the session's time is up; then the client stops believing.
			until := c.believesUntil()
			if now := time.Now(); l.anew.Load() && errors.Is(err, errEnded) && now.Before(until) {
				until = now
			}
			if h.to.IsZero() || until.Before(h.to) {
				h.to = until
			}
			if h.to.Before(h.from) {
				h.to = h.from
			}
		}
		l.record.hold(lock, h)
		if err != nil && !l.isTaken(err) {
			return err
		}
	}
	return nil
}

// isTaken reports whether an error means that a rebuilt shard has dropped the client's holding.
func (l *load) isTaken(err error) bool {
	var answer *protocol.Error
	return l.anew.Load() && errors.As(err, &answer) &&
		(answer.Status == protocol.StatusAborted || answer.Status == protocol.StatusFenced)
}

// write updates a semaphore written only by this client, and creates another.
func (l *load) write(c *client, data string, incarnation, round int, value *int) error {
	if *value == 0 {
		*value = 1
		l.record.writes(data, 1)
		if err := c.create(data, "1"); err != nil {
			return err
		}
		l.record.wrote(data, 1)
	}
	*value++
	l.record.writes(data, *value)
	if err := c.update(data, strconv.Itoa(*value)); err != nil {
		return err
	}
	l.record.wrote(data, *value)
	name := fmt.Sprintf("%s-%d-%d", data, incarnation, round)
	if err := c.create(name, name); err != nil {
		return err
	}
	l.record.create(name, name)
	return nil
}

// progress waits until every lock was held so many more times.
func (l *load) progress(more int) {
	l.t.Helper()
	before := l.record.cycles()
	await(l.t, fmt.Sprintf("each lock is held %d times more", more), &l.record.changes, func() bool {
		now := l.record.cycles()
		for lock, n := range now {
			if n < before[lock]+more {
				return false
			}
		}
		return len(now) > 0 && len(now) >= len(before) || l.broken()
	})
}

func (l *load) broken() bool {
	l.record.mu.Lock()
	defer l.record.mu.Unlock()
	return len(l.record.faults) > 0
}

// drain lets every client finish: waiting clients get the lock.
func (l *load) drain() {
	l.t.Helper()
	close(l.enough)
	done := make(chan struct{})
	go func() {
		l.workers.Wait()
		close(done)
	}()
	receive(l.t, "every client ends what it does", done)
}

// check lets the clients finish and checks all guarantees to them.
func (l *load) check() {
	l.t.Helper()
	l.drain()
	l.record.checkErrors()
	l.record.checkHolders()
	c, err := start(l.hosts, l.path, patience, l.record)
	if err != nil {
		l.t.Fatal(err)
	}
	defer c.disconnect()
	l.record.checkData(c)
}
