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

// ErrBatchTooLarge is returned by Propose for a batch larger than MaxBatchBytes.
var ErrBatchTooLarge = errors.New("raftlog: the batch is too large")

// proposals are one log's batches without a delivered outcome, oldest first.
type proposals struct {
	mu     sync.Mutex // keeps the queue in the engine's order
	closed bool       // guarded by mu
	queue  chan proposal

	count atomic.Int64
	bytes atomic.Int64
}

type proposal struct {
	request  *dragonboat.RequestState // nil for a known outcome
	outcome  shard.Outcome
	term     uint64 // this host's term as the leader when the batch was proposed
	deadline time.Time
	size     int
	done     func(shard.Outcome)
}

// Guard returns why this host, as the leader, must not propose commands that do not free space: an ErrFull, a
// shard.ErrMemoryFull, or nil. Guard is cheap enough for every proposal.
func (l *Log) Guard() error {
	refusal := l.refusal.Load()
	if refusal == nil {
		refusal = l.memoryRefusal.Load()
	}
	if refusal == nil || l.leadership.Load().Leader != l.host.config.Host {
		return nil
	}
	return *refusal
}

// Propose hands a batch to the engine, which copies the batch. A host that does not lead proposes nothing: the engine
// would forward the batch to the leader, and the outcome of a batch lost on the way would stay unknown.
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
	q.queue <- p // the queue has capacity for all batches that may be in flight
	return nil
}

func (l *Log) tooLarge(batch []byte) error {
	return fmt.Errorf("raftlog: shard %d: %w: %d bytes, at most %d", l.shardID, ErrBatchTooLarge, len(batch),
		MaxBatchBytes)
}

func (p *proposals) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	close(p.queue)
}

// deliverOutcomes calls the proposals' callbacks with the outcomes, in proposal order, which is also the order of
// applying. deliverOutcomes returns when the queue is closed and empty.
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

// awaitOutcome waits for the engine's result for a limited time: the engine counts time in ticks, and ticks stop while
// a worker waits for the disk. After losing leadership, awaitOutcome waits one more election timeout: if the next
// leader has the batch, a commit follows soon, and otherwise the engine never has a result.
func (l *Log) awaitOutcome(p proposal, timer *time.Timer) shard.Outcome {
	mine := shard.Leadership{Leader: l.host.config.Host, Term: p.term}
	deposed := false
	for {
		changed := l.changed.wait()
		if !deposed && *l.leadership.Load() != mine {
			deposed = true
			if soon := time.Now().Add(l.host.config.election()); soon.Before(p.deadline) {
				p.deadline = soon
			}
		}
		timer.Reset(time.Until(p.deadline))
		select {
		case result := <-p.request.AppliedC():
			p.request.Release()
			switch {
			case result.Completed():
				return shard.OutcomeApplied
			case result.Dropped():
				return shard.OutcomeDropped
			}
			return shard.OutcomeUnknown
		case <-timer.C:
			return shard.OutcomeUnknown // the request remains with the engine, which may still use it
		case <-changed:
		}
	}
}
