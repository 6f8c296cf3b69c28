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
	// barrierRounds is the maximum number of concurrent rounds. With two, a barrier waits half a round on average
	// before its own begins; more rounds would load the majority for little gain.
	barrierRounds = 2
	// maxBarriers bounds the waiting barriers in a shard.
	maxBarriers = 1 << 16
)

// barriers are the read barriers on one log. Barriers share rounds; a round asks the majority once. A round serves only
// barriers called before the round began: an entry committed between the start of a round and a later call may be
// unapplied when the round ends.
type barriers struct {
	ask     askMajority
	timeout time.Duration // barrier timeout
	limit   time.Duration // timeout for a leader's first round, and after a successful round; doubles with each failure
	pause   time.Duration // pause after a failed round
	stop    <-chan struct{}
	wake    chan struct{} // holds a token while barriers may be waiting
	elected announcement  // a leader has become known

	mu      sync.Mutex
	closed  bool      // guarded by mu, as is waiting
	waiting []barrier // oldest first, except barriers requeued after a failed round
}

// askMajority asks a majority whether the leader still leads. A nil result means that a majority has confirmed the
// leader since the call, and that this replica has applied all entries committed before the call. askMajority gives up
// at the time limit, when abandon is closed because a new leader was elected, and when the log is closed.
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

// run executes rounds until the log is closed, and answers the remaining barriers with shard.ErrLogClosed.
// barrierRounds goroutines execute run.
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
		// The request goes to the currently known leader, and is lost if leadership changes. A request lost on the way
		// to an earlier leader proves nothing about the new leader.
		if now := b.elected.wait(); now != elected {
			elected, limit = now, b.limit
		}
		err := b.ask(min(limit, untilFirst(taken)), elected)
		if err == nil {
			answer(taken, nil)
			limit = b.limit
			continue
		}
		// The request may be lost on its way to the leader, so it is soon repeated. But this replica may also be far
		// behind in applying, and then repeating does not help, so the limit doubles.
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

// untilFirst is the time until the first of some barriers must be answered, whatever the round's result.
func untilFirst(taken []barrier) time.Duration {
	first := slices.MinFunc(taken, func(a, b barrier) int { return a.deadline.Compare(b.deadline) })
	return max(time.Until(first.deadline), 0)
}

// drain returns all waiting barriers. memory is reused for the next ones.
func (b *barriers) drain(memory []barrier) []barrier {
	clear(memory)
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.waiting
	b.waiting = memory[:0]
	return taken
}

// requeue adds barriers to the queue again, and returns the barriers with a passed deadline.
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

// waitAfterFailure prevents a busy loop if rounds fail immediately.
func (b *barriers) waitAfterFailure(elected <-chan struct{}) {
	timer := time.NewTimer(b.pause)
	defer timer.Stop()
	select {
	case <-elected:
	case <-timer.C:
	case <-b.stop:
	}
}

// close refuses further barriers. Waiting barriers are answered when stop is closed.
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

// Barrier joins the next round. It fails at once if there was no known leader for the whole barrier timeout.
func (l *Log) Barrier(done func(error)) error {
	if without := l.leaderless(); without > l.barriers.timeout {
		return fmt.Errorf("%w: no leader has been known for %v", shard.ErrNoQuorum, without.Round(time.Second))
	}
	return l.barriers.add(done)
}

// askMajority runs one round in the engine.
//
// An abandoned request remains with the engine, which may still use it. A request made while the shard is being stopped
// may never get a result from the engine.
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
