package raftlog

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/signalbox/signalbox/shard"
)

const (
	// barrierRounds may be out at once. With two, a barrier waits for half a round on average before its
	// own begins; more would ask the majority more often for little.
	barrierRounds = 2
	// maxBarriers bounds the barriers of a shard that wait for a round.
	maxBarriers = 1 << 16
)

// barriers are the read barriers of one log. They share rounds, each of which asks the majority once. A round serves
// the barriers that were called before it began, and no others: what was committed between its beginning and a later
// call need not be applied when it ends.
type barriers struct {
	ask     askMajority
	timeout time.Duration // of a barrier
	limit   time.Duration // of a leader's first round, and after one that succeeded; it doubles with each that fails
	pause   time.Duration // after a round that failed
	stop    <-chan struct{}
	wake    chan struct{} // holds a token while barriers may be waiting
	elected announcement  // a leader has become known

	mu      sync.Mutex
	closed  bool      // guarded by mu, as is waiting
	waiting []barrier // oldest first, except those back from a round that failed
}

// askMajority asks a majority whether the leader leads. Nil means that a majority has confirmed it since the call and
// that this replica has applied all that was committed before. It gives up after the limit, when abandon is closed
// because another leader was elected, and when the log is closed.
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
	signal(b.wake)
	return nil
}

// run runs one round after the other until the log is closed, and answers what then waits with
// shard.ErrLogClosed. barrierRounds goroutines run it.
func (b *barriers) run() {
	limit := b.limit
	var elected <-chan struct{}
	var taken []barrier
	for {
		select {
		case <-b.stop:
			answer(b.drain(taken), shard.ErrLogClosed)
			return
		case <-b.wake:
		}
		if taken = b.drain(taken); len(taken) == 0 {
			continue
		}
		// The question goes to the leader that is known now, and is lost with it. What was lost on the way to an
		// earlier leader says nothing of this one.
		if now := b.elected.wait(); now != elected {
			elected, limit = now, b.limit
		}
		err := b.ask(min(limit, untilFirst(taken)), elected)
		if err == nil {
			answer(taken, nil)
			limit = b.limit
			continue
		}
		// The question may be lost on its way to the leader, so it is asked again soon. This replica may also be far
		// behind in applying, and then asking again does not help, so the limit doubles.
		limit = min(2*limit, b.timeout)
		answer(b.requeue(taken), fmt.Errorf("%w: %w", shard.ErrNoQuorum, err))
		b.waitAfterFailure(elected)
	}
}

func answer(barriers []barrier, err error) {
	for _, b := range barriers {
		b.done(err)
	}
}

// untilFirst is after which time the first of some barriers is to be answered, whatever its round says.
func untilFirst(taken []barrier) time.Duration {
	first := slices.MinFunc(taken, func(a, b barrier) int { return a.deadline.Compare(b.deadline) })
	return max(time.Until(first.deadline), 0)
}

// drain returns all waiting barriers. The next ones wait in the memory that it is given.
func (b *barriers) drain(memory []barrier) []barrier {
	clear(memory)
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.waiting
	b.waiting = memory[:0]
	return taken
}

// requeue lets barriers wait for another round, and returns those whose deadline has passed.
func (b *barriers) requeue(taken []barrier) (expired []barrier) {
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
		signal(b.wake)
	}
	return expired
}

// waitAfterFailure keeps rounds that fail at once from following one another at full speed.
func (b *barriers) waitAfterFailure(elected <-chan struct{}) {
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

var (
	errRoundDropped   = errors.New("no leader is known, or it is not ready")
	errRoundTimeout   = errors.New("no answer in time")
	errRoundAbandoned = errors.New("another leader was elected")
)

// Barrier joins the next round. Where no leader has been known for as long as a barrier may take, it fails at once.
func (l *Log) Barrier(done func(error)) error {
	if without := l.leaderless(); without > l.barriers.timeout {
		return fmt.Errorf("%w: no leader has been known for %v", shard.ErrNoQuorum, without.Round(time.Second))
	}
	return l.barriers.add(done)
}

// askMajority runs one round of the engine.
//
// A request that it gives up stays with the engine, which may still use it. For one that was made while the shard is
// being stopped the engine may never have a result.
func (l *Log) askMajority(limit time.Duration, abandon <-chan struct{}) error {
	var request *dragonboat.RequestState
	err := l.reads.begin(func() (err error) {
		request, err = l.host.engine.ReadIndex(l.shardID, l.host.config.BarrierTimeout)
		return err
	})
	if err != nil {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var result dragonboat.RequestResult
	select {
	case result = <-request.AppliedC():
	case <-abandon:
		return errRoundAbandoned
	case <-timer.C:
		return errRoundTimeout
	case <-l.stop:
		return shard.ErrLogClosed
	}
	request.Release()
	switch {
	case result.Completed():
		return nil
	case result.Dropped():
		return errRoundDropped
	}
	return errRoundTimeout
}
