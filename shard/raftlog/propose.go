package raftlog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/signalbox/signalbox/shard"
)

// ErrBatchTooLarge is returned by Propose and Forward for a batch of more than MaxBatchBytes.
var ErrBatchTooLarge = errors.New("raftlog: the batch is too large")

// proposals are the batches of one log whose outcome is not delivered yet, oldest first.
type proposals struct {
	mu     sync.Mutex // keeps the order of the queue that of the engine's
	closed bool       // guarded by mu
	queue  chan proposal

	count atomic.Int64
	bytes atomic.Int64
}

type proposal struct {
	request  *dragonboat.RequestState // nil where the outcome is known
	outcome  shard.Outcome
	term     uint64 // in which its proposer led
	deadline time.Time
	size     int
	done     func(shard.Outcome)
}

// Propose hands a batch to the engine, which copies it. A host that does not lead proposes nothing: the
// engine would pass the batch on to the leader, and could not tell its outcome when it is lost.
func (l *Log) Propose(batch []byte, done func(shard.Outcome)) error {
	if len(batch) > MaxBatchBytes {
		return l.tooLarge(batch)
	}
	q := &l.proposals
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return shard.ErrLogClosed
	}
	c := &l.host.config
	bytes := q.bytes.Load()
	if q.count.Load() >= int64(c.MaxInFlight) || bytes > 0 && bytes+int64(len(batch)) > int64(c.MaxInFlightBytes) {
		return shard.ErrLogBusy
	}
	p := proposal{outcome: shard.OutcomeDropped, done: done}
	if term, leads := l.leads(); leads {
		request, err := l.host.engine.Propose(l.session, batch, c.ProposalTimeout)
		if err != nil && !errors.Is(err, dragonboat.ErrShardNotReady) {
			return fmt.Errorf("raftlog: shard %d: propose: %w", l.shardID, logError(err))
		}
		if err == nil {
			p = proposal{
				request: request, term: term, deadline: time.Now().Add(c.ProposalTimeout), size: len(batch), done: done,
			}
		}
	}
	q.count.Add(1)
	q.bytes.Add(int64(p.size))
	q.queue <- p // there is room for as many as may be in flight
	return nil
}

func (l *Log) tooLarge(batch []byte) error {
	return fmt.Errorf("raftlog: shard %d: %w: %d bytes, at most %d", l.shardID, ErrBatchTooLarge, len(batch), MaxBatchBytes)
}

func (q *proposals) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	close(q.queue)
}

// deliverOutcomes tells every proposer what became of its batch, in the order of proposing, which is
// also that of applying. It returns when the queue is closed and empty.
func (l *Log) deliverOutcomes() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for p := range l.proposals.queue {
		outcome := p.outcome
		if p.request != nil {
			outcome = l.awaitOutcome(p, timer)
		}
		l.proposals.bytes.Add(-int64(p.size))
		l.proposals.count.Add(-1)
		p.done(outcome)
	}
}

// awaitOutcome waits for the engine's word, but not for ever: the engine counts time in ticks, which
// stand still while its worker waits for the disk. Nor for long once this host no longer leads: the
// next leader commits what it has of the batch soon, and the engine never hears of what it has not.
func (l *Log) awaitOutcome(p proposal, timer *time.Timer) shard.Outcome {
	mine := shard.Leadership{Leader: l.host.config.Host, Term: p.term}
	deposed := false
	for {
		turned := l.turned.wait()
		if !deposed && l.Leadership() != mine {
			deposed = true
			if soon := time.Now().Add(l.host.config.election()); soon.Before(p.deadline) {
				p.deadline = soon
			}
		}
		timer.Reset(time.Until(p.deadline))
		select {
		case result := <-p.request.AppliedC():
			p.request.Release()
			return outcomeOf(result)
		case <-timer.C:
			return shard.OutcomeUnknown // the request is left to the engine, which may still use it
		case <-turned:
		}
	}
}

func outcomeOf(result dragonboat.RequestResult) shard.Outcome {
	switch {
	case result.Completed():
		return shard.OutcomeApplied
	case result.Dropped():
		return shard.OutcomeDropped
	}
	return shard.OutcomeUnknown
}
