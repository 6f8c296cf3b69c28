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
	// barrierRounds is the maximum number of concurrent rounds on a fast network. With two, a barrier waits half a
	// round on average before the next round begins; more rounds would load the majority for little gain.
	barrierRounds = 2
	// On a slow network, up to slowRounds more rounds begin, each at least roundGap and a share of a round's time after
	// the previous one. A barrier then waits for that share at most.
	slowRounds = 14
	roundGap   = 2 * time.Millisecond
	roundShare = 8
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
	late    chan struct{} // holds a token while barriers may be waiting, and barrierRounds rounds are out
	elected announcement  // a leader has become known

	mu      sync.Mutex // guards the fields below
	closed  bool
	waiting []barrier     // oldest first, except barriers requeued after a failed round
	out     int           // rounds
	began   time.Time     // when the latest round began
	took    time.Duration // how long the latest successful round took
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
		late:    make(chan struct{}, 1),
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
	if b.out >= barrierRounds {
		signal(b.late)
	}
	return nil
}

// run executes rounds until the log is closed, and answers the remaining barriers with shard.ErrLogClosed.
// barrierRounds goroutines execute run.
func (b *barriers) run() {
	r := rounds{barriers: b, limit: b.limit}
	for {
		select {
		case <-b.stop:
			answer(b.drain(nil), shard.ErrLogClosed)
			return
		case <-b.wake:
		}
		if !r.next() {
			b.waitAfterFailure(r.elected)
		}
	}
}

// runLate starts additional rounds while barriers wait behind slow rounds. After the log is closed, runLate answers the
// remaining barriers. One goroutine executes runLate.
func (b *barriers) runLate() {
	var more sync.WaitGroup
	slots := make(chan struct{}, slowRounds)
	for b.awaitLate() {
		slots <- struct{}{} // rounds end when the log is closed
		more.Go(func() {
			b.untilSuccess()
			<-slots
		})
	}
	more.Wait()
	answer(b.drain(nil), shard.ErrLogClosed)
}

// awaitLate waits until one more round is due, and returns false if the log is closed.
func (b *barriers) awaitLate() bool {
	for {
		select {
		case <-b.stop:
			return false
		case <-b.late:
		}
		wait, is := b.untilLate()
		for ; is && wait > 0; wait, is = b.untilLate() {
			select {
			case <-b.stop:
				return false
			case <-time.After(wait):
			}
		}
		if is {
			return true
		}
	}
}

// untilSuccess executes rounds until one succeeds, no barriers wait, or the log is closed.
func (b *barriers) untilSuccess() {
	r := rounds{barriers: b, limit: b.limit}
	for !r.next() {
		b.waitAfterFailure(r.elected)
		select {
		case <-b.stop:
			return
		default:
		}
	}
}

// untilLate returns the wait before the next additional round. is is false if no round is needed.
func (b *barriers) untilLate() (wait time.Duration, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	gap := max(roundGap, b.took/roundShare)
	return time.Until(b.began.Add(gap)), len(b.waiting) > 0 && b.out >= barrierRounds
}

// rounds executes rounds one after the other, on one goroutine.
type rounds struct {
	*barriers
	limit   time.Duration   // of the next round
	elected <-chan struct{} // closed when the leader asked last was replaced
	taken   []barrier
}

// next executes a round for the waiting barriers, and returns false if the round has failed.
func (r *rounds) next() (ok bool) {
	b := r.barriers
	if r.taken = b.drain(r.taken); len(r.taken) == 0 {
		return true
	}
	// The request goes to the currently known leader, and is lost if leadership changes. A request lost on the way to
	// an earlier leader proves nothing about the new leader.
	if now := b.elected.wait(); now != r.elected {
		r.elected, r.limit = now, b.limit
	}
	began := time.Now()
	err := b.ask(min(r.limit, untilFirst(r.taken)), r.elected)
	b.ended(began, err)
	if err == nil {
		answer(r.taken, nil)
		r.limit = b.limit
		return true
	}
	// The request may be lost on its way to the leader, so it is soon repeated. But this replica may also be far behind
	// in applying, and then repeating does not help, so the limit doubles.
	r.limit = min(2*r.limit, b.timeout)
	answer(b.requeue(r.taken), fmt.Errorf("%w: %w", shard.ErrNoQuorum, err))
	return false
}

// ended records the end of a round.
func (b *barriers) ended(began time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out--
	if err == nil {
		b.took = time.Since(began)
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

// drain begins a round for all waiting barriers, and returns them. memory is reused for the next ones.
func (b *barriers) drain(memory []barrier) []barrier {
	clear(memory)
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.waiting
	b.waiting = memory[:0]
	if len(taken) > 0 {
		b.out++
		b.began = time.Now()
	}
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
