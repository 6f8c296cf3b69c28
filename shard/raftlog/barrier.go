package raftlog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/shard"
)

const (
	// barrierRounds may be out at once. With two, a barrier waits for half a round on average before its
	// own begins; more would ask the majority more often for little.
	barrierRounds = 2
	// maxBarriers bounds the barriers of a shard that wait for a round.
	maxBarriers = 1 << 16
)

// barriers are the read barriers of one log. They share rounds, each of which asks the majority once.
// A round answers those that were called before it began, and no others: what was committed between
// its beginning and a later call need not be applied when it ends.
type barriers struct {
	ask     askMajority
	timeout time.Duration // of a barrier
	limit   time.Duration // of the first round after one that succeeded
	pause   time.Duration // after a round that failed
	stop    <-chan struct{}
	wake    chan struct{} // one token while barriers may be waiting
	rounds  atomic.Uint64 // begun so far
	elected announcement  // a leader has become known

	mu      sync.Mutex
	closed  bool      // guarded by mu, as is waiting
	waiting []barrier // oldest first, but for those back from a round that failed
}

// askMajority asks a majority whether the leader leads. Nil means that one has confirmed it since the
// call and that this replica has applied all that was committed before. It gives up after the limit,
// when abandon is closed, because there is another leader to ask, and when the log is closed.
type askMajority func(limit time.Duration, abandon <-chan struct{}) error

type barrier struct {
	done     func(error)
	deadline time.Time
}

func newBarriers(c Config, ask askMajority, stop <-chan struct{}) *barriers {
	return &barriers{
		ask:     ask,
		timeout: c.BarrierTimeout,
		limit:   c.election() / 2,
		pause:   c.Tick,
		stop:    stop,
		wake:    make(chan struct{}, 1),
	}
}

// add lets a barrier wait for the next round.
func (b *barriers) add(done func(error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return shard.ErrLogClosed
	}
	if len(b.waiting) >= maxBarriers {
		return shard.ErrLogBusy
	}
	b.waiting = append(b.waiting, barrier{done: done, deadline: time.Now().Add(b.timeout)})
	b.signal()
	return nil
}

func (b *barriers) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// run runs one round after the other until the log is closed, and answers what then waits with
// shard.ErrLogClosed. barrierRounds goroutines run it.
func (b *barriers) run() {
	limit := b.limit
	var taken []barrier
	for {
		select {
		case <-b.stop:
			answer(b.take(taken), shard.ErrLogClosed)
			return
		case <-b.wake:
		}
		if taken = b.take(taken); len(taken) == 0 {
			continue
		}
		// The question goes to the leader that is known now, and is lost with it.
		elected := b.elected.wait()
		b.rounds.Add(1)
		err := b.ask(limit, elected)
		if err == nil {
			answer(taken, nil)
			limit = b.limit
			continue
		}
		// The question may be lost on its way to the leader, so it is asked again soon. It may also be
		// that this replica is far behind in applying, which asking again does not make faster.
		limit = min(2*limit, b.timeout)
		answer(b.putBack(taken), fmt.Errorf("%w: %w", shard.ErrNoQuorum, err))
		b.rest(elected)
	}
}

func answer(barriers []barrier, err error) {
	for _, b := range barriers {
		b.done(err)
	}
}

// take returns all that wait. Those that come next wait in the memory of an earlier take.
func (b *barriers) take(memory []barrier) []barrier {
	clear(memory)
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.waiting
	b.waiting = memory[:0]
	return taken
}

// putBack lets barriers wait for another round, except those that have waited for long enough.
func (b *barriers) putBack(taken []barrier) (expired []barrier) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range taken {
		if b.closed || now.Before(one.deadline) {
			b.waiting = append(b.waiting, one)
		} else {
			expired = append(expired, one)
		}
	}
	if len(b.waiting) > 0 {
		b.signal()
	}
	return expired
}

// rest keeps rounds that fail at once from following one another at full speed.
func (b *barriers) rest(elected <-chan struct{}) {
	timer := time.NewTimer(b.pause)
	defer timer.Stop()
	select {
	case <-elected:
	case <-timer.C:
	case <-b.stop:
	}
}

// close refuses further barriers. Those that wait are answered when stop is closed.
func (b *barriers) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}

func (b *barriers) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

var (
	errRoundDropped   = errors.New("no leader is known, or it is not ready")
	errRoundTimeout   = errors.New("no answer in time")
	errRoundAbandoned = errors.New("another leader was elected")
)
