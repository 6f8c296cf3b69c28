package raftlog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/lni/dragonboat/v4/client"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// Log is a host's part in a shard's log, and implements shard.Log.
//
// One goroutine delivers proposal outcomes, one takes snapshots, and barrierRounds and one goroutines run barriers.
// Close ends all these goroutines.
type Log struct {
	host    *Host
	shardID uint64
	replica replicaRecord // this host's replica
	session *client.Session
	machine *machine

	leaderMu   sync.Mutex           // held while leader and view change
	leader     raftio.LeaderInfo    // guarded by leaderMu, as is since: the engine's latest event
	since      map[uint64]time.Time // when replicas became known as members
	ledSince   time.Time            // guarded by leaderMu
	lost       time.Time            // guarded by leaderMu; when the latest leader was lost
	view       atomic.Pointer[view]
	leadership atomic.Pointer[shard.Leadership]
	changed    announcement // of leadership
	changing   sync.Mutex   // held while a member change is in progress
	reads      readGate
	proposals  proposals
	barriers   *barriers

	// State for nearly full disks, in fulldisk.go.
	refusal       atomic.Pointer[error]       // why this leader refuses changes; nil: it does not
	leaderRefuses atomic.Bool                 // the leader accepts only commands that free space
	missingRoom   atomic.Pointer[missingRoom] // for another host's snapshot; nil: there is enough space
	relieved      time.Time                   // last attempt to transfer leadership; used by Host.watchDisks alone

	memoryRefusal atomic.Pointer[error] // why this leader refuses growth, in memory.go; nil: it does not

	notifyMu sync.Mutex // held while the state machine is notified of a leader
	muted    bool       // guarded by notifyMu: the state machine gets no more notifications

	stop    chan struct{} // closed when Close begins
	ending  atomic.Bool
	ended   chan struct{} // closed when Close is done
	running sync.WaitGroup
}

var _ shard.Log = (*Log)(nil)

func newLog(h *Host, shardID uint64, replica replicaRecord, initialMembers map[uint64]transport.Target,
	target shard.StateMachine) *Log {
	l := &Log{
		host:    h,
		shardID: shardID,
		replica: replica,
		session: h.engine.GetNoOPSession(shardID),
		since:   make(map[uint64]time.Time),
		reads:   newReadGate(),
		stop:    make(chan struct{}),
		ended:   make(chan struct{}),
		lost:    time.Now(),
	}
	growth := newGrowth(uint64(h.config.SnapshotBytes), uint64(h.config.KeepBytes))
	l.machine = newMachine(shardID, target, h.config.Logger, growth, h.saves, l.newestSnapshot)
	l.machine.room = func() error { return h.room(0) }
	l.leadership.Store(new(shard.Leadership))
	l.view.Store(newView(replica.Replica, initialMembers))
	l.proposals.queue = make(chan proposal, h.config.MaxInFlight)
	l.barriers = newBarriers(h.config, l.askMajority, l.stop)
	return l
}

// start starts the log's goroutines.
func (l *Log) start() {
	l.running.Go(l.deliverOutcomes)
	l.running.Go(l.takeSnapshots)
	for range barrierRounds {
		l.running.Go(l.barriers.run)
	}
	l.running.Go(l.barriers.runLate)
}

// Leadership returns the engine's latest event. The state machine is notified soon after.
func (l *Log) Leadership() shard.Leadership { return *l.leadership.Load() }

// setLeader records an engine event.
func (l *Log) setLeader(info raftio.LeaderInfo) {
	l.leaderMu.Lock()
	defer l.leaderMu.Unlock()
	l.leader = info
	l.resolveLeader()
}

// resolveLeader publishes a changed leader, and has the state machine notified. The caller holds leaderMu.
func (l *Log) resolveLeader() {
	host := l.view.Load().hostOf(l.leader.LeaderID, l.host.config.Host)
	leadership := shard.Leadership{Leader: host, Term: l.leader.Term}
	if l.Leadership() == leadership {
		return
	}
	l.ledSince = time.Now()
	if leadership.Leader == 0 && l.Leadership().Leader != 0 {
		l.lost = l.ledSince
	}
	l.leadership.Store(&leadership)
	l.changed.announce()
	if leadership.Leader != 0 {
		l.barriers.elected.announce()
	}
	l.host.events.notify(l, leadership)
}

// leaderless returns for how long no leader has been known, 0 if a leader is known.
func (l *Log) leaderless() time.Duration {
	if l.leadership.Load().Leader != 0 {
		return 0
	}
	l.leaderMu.Lock()
	defer l.leaderMu.Unlock()
	return time.Since(l.lost)
}

// notifyLeadership notifies the state machine, unless the log is being closed.
func (l *Log) notifyLeadership(leadership shard.Leadership) {
	l.notifyMu.Lock()
	defer l.notifyMu.Unlock()
	if !l.muted {
		l.machine.target.LeadershipChanged(leadership)
	}
}

// leads reports whether this host believes to be the leader, and the term. The engine's events lag slightly behind the
// engine's knowledge, so a newer term known to the engine already counts too.
func (l *Log) leads() (term uint64, yes bool) {
	leadership := l.leadership.Load()
	if leadership.Leader != l.host.config.Host {
		return 0, false
	}
	_, known, _, err := l.host.engine.GetLeaderID(l.shardID)
	return leadership.Term, err == nil && known <= leadership.Term
}

// Removed reports whether the engine has stopped the replica, as happens after removing a replica.
func (l *Log) Removed() bool {
	_, _, _, err := l.host.engine.GetLeaderID(l.shardID)
	return errors.Is(err, dragonboat.ErrShardNotFound)
}

// Transfer asks the leader, on whichever host, to transfer leadership to another host. The leader drops proposals until
// the transfer is done, or one election timeout has passed: a leader refuses a transfer to a host without answers.
func (l *Log) Transfer(to shard.HostID) error {
	replica := l.view.Load().voterOn(to)
	if replica == 0 {
		return fmt.Errorf("raftlog: shard %d: transfer to host %d: %w", l.shardID, to, shard.ErrNotMember)
	}
	if l.isClosed() {
		return shard.ErrLogClosed
	}
	if term, leads := l.leads(); leads && to != l.host.config.Host &&
		!l.answers(l.host.followers.of(l.shardID, term, to)) {
		return fmt.Errorf("raftlog: shard %d: transfer to host %d, which does not answer: %w", l.shardID, to,
			shard.ErrLogBusy)
	}
	if err := l.host.engine.RequestLeaderTransfer(l.shardID, replica); err != nil {
		return fmt.Errorf("raftlog: shard %d: transfer to host %d: %w", l.shardID, to, logError(err))
	}
	return nil
}

// isClosed reports whether Close has begun: from then on the engine may use the shard's id for another log.
func (l *Log) isClosed() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// Close stops this host's replica. Close waits for state machine calls in progress and for the callbacks of in-flight
// requests, and must not be called from either.
func (l *Log) Close() error {
	if l.ending.Swap(true) {
		<-l.ended
		return nil
	}
	defer close(l.ended)
	l.notifyMu.Lock()
	l.muted = true
	l.notifyMu.Unlock()
	l.proposals.close()
	l.barriers.close()
	close(l.stop)
	// A self-stopped replica is not found. The important fact is that the engine has closed the machine.
	if err := l.host.engine.StopShard(l.shardID); err != nil && !errors.Is(err, dragonboat.ErrShardNotFound) {
		l.host.config.Logger.Error("stop shard", "shard", l.shardID, "error", err)
	}
	<-l.machine.closed
	l.running.Wait()
	l.host.forget(l)
	return nil
}

// logError translates an engine error into an error from shard.Log.
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

// announcement wakes all goroutines that wait for the next occurrence of an event.
type announcement struct {
	mu   sync.Mutex
	next chan struct{} // guarded by mu; nil while no goroutine waits
}

// wait returns a channel the next announce call closes.
func (a *announcement) wait() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == nil {
		a.next = make(chan struct{})
	}
	return a.next
}

func (a *announcement) announce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next != nil {
		close(a.next)
		a.next = nil
	}
}
