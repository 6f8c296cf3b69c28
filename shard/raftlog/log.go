package raftlog

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/client"
	"github.com/signalbox/signalbox/shard"
)

// Log is one host's end of a shard's log. It implements shard.Log.
//
// Its goroutines are one that delivers the outcomes of proposals and barrierRounds that run barriers;
// Close ends them.
type Log struct {
	host    *Host
	shardID uint64
	members []shard.HostID // the hosts that the shard was made with
	session *client.Session
	machine *machine

	belief    atomic.Pointer[shard.Leadership]
	turned    announcement // belief has changed
	proposals proposals
	forwards  *forwards
	barriers  *barriers

	tellMu sync.Mutex // held while the state machine is told of a leader
	silent bool       // guarded by tellMu: it is told no more

	stop      chan struct{} // closed when Close begins
	closeOnce sync.Once
	running   sync.WaitGroup
}

var _ shard.Log = (*Log)(nil)

func newLog(h *Host, shardID uint64, members []shard.HostID, target shard.StateMachine) *Log {
	l := &Log{
		host:    h,
		shardID: shardID,
		members: members,
		session: h.engine.GetNoOPSession(shardID),
		machine: newMachine(shardID, target, h.config.Logger),
		stop:    make(chan struct{}),
	}
	l.belief.Store(new(shard.Leadership))
	l.proposals.queue = make(chan proposal, h.config.MaxInFlight)
	l.forwards = newForwards(shardID)
	l.barriers = newBarriers(h.config, l.askMajority, l.stop)
	return l
}

// start starts the log's goroutines.
func (l *Log) start() {
	l.running.Go(l.deliverOutcomes)
	for range barrierRounds {
		l.running.Go(l.barriers.run)
	}
}

// Leadership returns what the engine told last. The state machine hears of it soon after.
func (l *Log) Leadership() shard.Leadership { return *l.belief.Load() }

// believe records what the engine told.
func (l *Log) believe(leadership shard.Leadership) {
	l.belief.Store(&leadership)
	l.turned.announce()
	if leadership.Leader != 0 {
		l.barriers.elected.announce()
	}
}

// tellLeadership tells the state machine, unless the log is being closed.
func (l *Log) tellLeadership(leadership shard.Leadership) {
	l.tellMu.Lock()
	defer l.tellMu.Unlock()
	if !l.silent {
		l.machine.target.LeadershipChanged(leadership)
	}
}

// leads tells whether this host believes that it leads, and in which term. The engine's events run a
// little behind its own knowledge, which settles the matter where it is newer.
func (l *Log) leads() (term uint64, yes bool) {
	belief := l.belief.Load()
	if belief.Leader != l.host.config.Host {
		return 0, false
	}
	_, known, _, err := l.host.engine.GetLeaderID(l.shardID)
	return belief.Term, err == nil && known <= belief.Term
}

// Transfer asks the leader, wherever it is, to hand over to another host. The leader drops proposals
// until that is done, or one election timeout has passed.
func (l *Log) Transfer(to shard.HostID) error {
	if !slices.Contains(l.members, to) {
		return fmt.Errorf("raftlog: shard %d: transfer to host %d: %w", l.shardID, to, shard.ErrNotMember)
	}
	if l.isClosed() {
		return shard.ErrLogClosed
	}
	if err := l.host.engine.RequestLeaderTransfer(l.shardID, uint64(to)); err != nil {
		return fmt.Errorf("raftlog: shard %d: transfer to host %d: %w", l.shardID, to, logError(err))
	}
	return nil
}

// isClosed tells whether Close has begun: from then on the engine may know another log by the shard's id.
func (l *Log) isClosed() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// Close ends this host's part of the shard. It waits for the state machine's call that is under way
// and for the callbacks of what was in flight, so it must not be called from either.
func (l *Log) Close() error {
	l.closeOnce.Do(func() {
		l.tellMu.Lock()
		l.silent = true
		l.tellMu.Unlock()
		l.proposals.close()
		l.forwards.close()
		l.barriers.close()
		close(l.stop)
		// A replica that took itself out is stopped already; what counts is that the engine lets go.
		if err := l.host.engine.StopShard(l.shardID); err != nil && !errors.Is(err, dragonboat.ErrShardNotFound) {
			l.host.config.Logger.Error("stop shard", "shard", l.shardID, "error", err)
		}
		<-l.machine.closed
		l.running.Wait()
		l.host.forget(l)
	})
	return nil
}

// logError translates an error of the engine's calls for those who know shard.Log only.
func logError(err error) error {
	switch {
	case errors.Is(err, dragonboat.ErrSystemBusy):
		return shard.ErrLogBusy
	case errors.Is(err, dragonboat.ErrClosed), errors.Is(err, dragonboat.ErrShardClosed),
		errors.Is(err, dragonboat.ErrShardNotFound):
		return shard.ErrLogClosed
	}
	return err
}
