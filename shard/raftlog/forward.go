package raftlog

import (
	"errors"
	"fmt"
	"sync"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/client"
	"github.com/signalbox/signalbox/shard"
)

// forwarderID marks the entries of Forward, the only batches that hosts send each other before they
// are in the log. The engine draws the ids of all other sessions at random from 64 bits.
const forwarderID = 1

// forwards are the batches of Forward that the engine still knows of.
type forwards struct {
	session *client.Session

	mu      sync.Mutex
	closed  bool        // guarded by mu, as are those below
	pending []forwarded // oldest first
	bytes   int
}

type forwarded struct {
	request *dragonboat.RequestState
	size    int
}

func newForwards(shardID uint64) *forwards {
	return &forwards{session: &client.Session{ShardID: shardID, ClientID: forwarderID, SeriesID: client.NoOPSeriesID}}
}

// Forward hands a batch to the engine, which puts it into the log here or sends it to the leader that
// this host knows.
func (l *Log) Forward(batch []byte) error {
	if len(batch) > MaxBatchBytes {
		return l.tooLarge(batch)
	}
	f, c := l.forwards, &l.host.config
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return shard.ErrLogClosed
	}
	f.reap()
	if len(f.pending) >= c.MaxInFlight || f.bytes > 0 && f.bytes+len(batch) > c.MaxInFlightBytes {
		return shard.ErrLogBusy
	}
	request, err := l.host.engine.Propose(f.session, batch, c.ProposalTimeout)
	if errors.Is(err, dragonboat.ErrShardNotReady) {
		return nil // lost without a word
	}
	if err != nil {
		return fmt.Errorf("raftlog: shard %d: forward: %w", l.shardID, logError(err))
	}
	f.pending = append(f.pending, forwarded{request: request, size: len(batch)})
	f.bytes += len(batch)
	return nil
}

// reap forgets those that are applied, lost or too old. Nobody waits for them, so it is done when the
// next one comes.
func (f *forwards) reap() {
	done := 0
reaping:
	for _, p := range f.pending {
		select {
		case <-p.request.AppliedC():
			p.request.Release()
			f.bytes -= p.size
			done++
		default:
			break reaping
		}
	}
	f.pending = append(f.pending[:0], f.pending[done:]...)
}

func (f *forwards) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.pending = nil
}
