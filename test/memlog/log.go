package memlog

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Log is one host's end of a group's log, from Open until it is closed or its host crashes. It implements shard.Log.
type Log struct {
	net     *Network
	group   *Group
	replica *replica
	host    *host
	machine shard.StateMachine

	// published is leadership, readable without the lock. The network's mu guards the remaining fields.
	published  atomic.Pointer[shard.Leadership]
	leadership shard.Leadership

	ended  bool  // closed, or its host crashed: none of its events happen any more
	closed bool  // Close was called: in-flight operations have outcomes
	failed error // state machine error; no further calls

	leading *leaderState // while it believes to lead

	// As a follower: how far the log is known to equal the leader's, and the leader's commit index.
	verified uint64
	known    uint64

	lastHeard     time.Duration
	electionAt    time.Duration
	electionArmed bool // electionDue is in the event queue
	// heartbeatsElided: heartbeats are certain to arrive, so the leader sends none and this follower expects none.
	heartbeatsElided bool

	syncing bool // an fsync is running, and makes the log durable up to syncTo
	syncTo  uint64
	hanging int      // writes waiting for a stuck disk
	held    []*event // events waiting for blocked writes

	proposals     inFlight[*proposal]
	proposalBytes int
	barriers      inFlight[*barrier]
	unconfirmed   []*barrier // sent to the leader and not confirmed
	confirmed     []*barrier // waiting until the state machine has applied their index
	resendArmed   bool       // resendBarriers is scheduled

	// queued is the index of the last entry in the callback queue, applied the last index passed to the state machine.
	callbacks callbackQueue
	queued    uint64
	applied   uint64
	inMachine int       // running state machine or Save calls
	wake      sync.Cond // real time: signalled when a callback may run
	isReady   bool      // simulated: in the network's ready queue
	scratch   applyScratch

	saving   bool           // a snapshot was prepared and is not saved yet
	prepared shard.Snapshot // the fixed snapshot, until Save is called
	nextSave uint64         // after a failure: no snapshot before this index
	stop     chan struct{}  // closed when the log has ended
}

var _ shard.Log = (*Log)(nil)

// startLog opens a replica.
func startLog(r *replica, machine shard.StateMachine) *Log {
	n, s := r.group.net, r.store
	l := &Log{
		net: n, group: r.group, replica: r, host: r.host, machine: machine,
		leadership: shard.Leadership{Term: s.term},
		known:      s.commit, verified: s.commit,
		queued: s.snapshotIndex(), applied: s.snapshotIndex(),
		stop: make(chan struct{}),
	}
	l.wake.L = &n.mu
	published := l.leadership
	l.published.Store(&published)
	r.log = l
	n.logs = append(n.logs, l)
	l.record(Record{Kind: RecordOpened, Term: s.term, Index: s.last()})
	if s.snapshot != nil {
		snap := s.snapshot
		l.enqueueMachine(func() { l.restore(snap) })
	}
	l.enqueueCommitted()
	l.armElection()
	l.group.bootstrap(r)
	n.resumeHeartbeats()
	if n.real != nil {
		n.real.startWorker(l)
	}
	return l
}

// Propose proposes a batch. The outcome is shard.OutcomeDropped if this host does not believe to lead.
func (l *Log) Propose(batch []byte, done func(shard.Outcome)) error {
	return locked(l.net, func() error { return l.propose(batch, done) })
}

// Barrier asks a majority whether the known leader still leads. It fails with shard.ErrNoQuorum immediately if no
// leader is known, and when the term ends meanwhile.
func (l *Log) Barrier(done func(error)) error {
	return locked(l.net, func() error { return l.barrier(done) })
}

// Leadership returns this host's belief.
func (l *Log) Leadership() shard.Leadership { return *l.published.Load() }

// Removed reports whether the replica was removed from its group.
func (l *Log) Removed() bool {
	return locked(l.net, func() bool { return l.group.removed[l.replica.id] })
}

// Transfer asks for a leadership transfer. It affects only the leader, which drops proposals until the target leads, or
// until an election timeout has passed.
func (l *Log) Transfer(to shard.HostID) error {
	return locked(l.net, func() error {
		target := l.group.replicaOn(to)
		switch {
		case l.ended:
			return shard.ErrLogClosed
		case target == nil || !target.voter:
			return fmt.Errorf("transferring group %d to host %d: %w", l.group.id, to, shard.ErrNotMember)
		}
		l.onHost(func() { l.transferTo(target) })
		return nil
	})
}

// Follower returns the highest index known to be on another host, and whether this host heard from it within an
// election timeout. Both are zero if this host does not lead.
func (l *Log) Follower(id shard.HostID) (index uint64, near bool) {
	l.net.do(func() {
		r := l.group.replicaOn(id)
		if l.ended || l.leading == nil || r == nil || r == l.replica {
			return
		}
		p := l.leading.peer(r)
		index = p.match
		near = l.surelyHeardBy(r) || p.heard >= l.net.now-l.host.virtual(l.net.cfg.ElectionTimeout)
	})
	return index, near
}

// Close closes the replica like a clean process stop, after syncing all writes. Closing twice is no error. Close may be
// called from a callback. Callbacks of in-flight operations may run after Close has returned.
func (l *Log) Close() error {
	l.net.do(func() {
		l.close()
		l.awaitMachine()
	})
	return nil
}

// Err returns the state machine's error, or nil. For tests that expect none.
func (l *Log) Err() error {
	return locked(l.net, func() error { return l.failed })
}

// Host returns the log's host.
func (l *Log) Host() shard.HostID { return l.host.id }

// close is Close, without waiting for the state machine.
func (l *Log) close() {
	if l.closed {
		return
	}
	if !l.ended {
		l.end()
		l.replica.crashed(false)
		l.record(Record{Kind: RecordClosed})
		l.net.resumeHeartbeats()
	}
	l.closed = true
	l.net.logs = slices.DeleteFunc(l.net.logs, func(o *Log) bool { return o == l })
	for _, p := range l.proposals.items {
		l.complete(p, shard.OutcomeUnknown)
	}
	for _, b := range l.barriers.items {
		l.completeBarrier(b, shard.ErrLogClosed)
	}
	l.wakeCallbacks()
}

// end makes every event of the log void.
func (l *Log) end() {
	l.ended = true
	l.leading = nil
	l.replica.log = nil
	close(l.stop)
}

// onHost runs f in the host's process: after earlier calls, and not while the host is paused.
func (l *Log) onHost(f func()) {
	l.net.schedule(0, event{host: l.host, log: l, run: f})
}

// after runs f after the given time by the host's clock.
func (l *Log) after(local time.Duration, f func()) {
	l.net.schedule(l.host.virtual(local), event{host: l.host, log: l, run: f})
}

// sendTo runs f on another replica of the group as a message, if the replica is open on arrival. r is nil if the
// intended leader is no longer a member.
func (l *Log) sendTo(r *replica, f func(at *Log)) {
	if r == nil {
		return
	}
	l.net.send(l.host, r, func() {
		if r.log != nil {
			f(r.log)
		}
	})
}

// setLeadership changes the host's belief, and notifies the state machine.
func (l *Log) setLeadership(leader shard.HostID, term uint64) {
	b := shard.Leadership{Leader: leader, Term: term}
	if b == l.leadership {
		return
	}
	if term < l.leadership.Term {
		l.group.violated("host %d goes back from term %d to %d", l.host.id, l.leadership.Term, term)
	}
	l.leadership = b
	l.published.Store(&b)
	l.record(Record{Kind: RecordLeadership, Peer: leader, Term: term})
	l.enqueueMachine(func() {
		_ = l.callMachine(func() error { l.machine.LeadershipChanged(b); return nil })
	})
}
