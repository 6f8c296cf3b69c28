package memlog

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Log is one host's end of a group's log, from Open until it is closed or its host crashes. It
// implements shard.Log.
type Log struct {
	net     *Network
	group   *Group
	replica *replica
	host    *host
	machine shard.StateMachine

	// shown is belief, for Leadership to read without the lock. All that follows is guarded by the
	// network's mu.
	shown  atomic.Pointer[shard.Leadership]
	belief shard.Leadership

	ended  bool  // it was closed or its host crashed: nothing of it happens any more
	closed bool  // Close was called: what is in flight has its outcome
	failed error // why the state machine could not go on

	leading *lead // while it believes that it leads

	// As a follower: how far the log is known to equal the leader's, and how far that one said it is
	// committed.
	verified uint64
	known    uint64

	lastHeard     time.Duration
	electionAt    time.Duration
	electionArmed bool // electionDue is in the queue of events
	quiet         bool // its leader is sure to be heard, so neither sends nor waits for heartbeats

	syncing bool     // an fsync is under way,
	syncTo  uint64   // which makes the log durable up to here
	hanging int      // writes that wait for a stuck disk,
	held    []*event // and what waits for them

	proposals     waits[*proposal]
	proposalBytes int
	barriers      waits[*barrier]
	unconfirmed   []*barrier // with the leader, to be asked again
	confirmed     []*barrier // waiting for the state machine to get to their index
	askArmed      bool
	forwards      int // batches of Forward that this host has not got round to, and their bytes
	forwardBytes  int

	// The calls of the state machine and of callbacks. queued is the index of the last entry in them,
	// applied that of the last one the machine was given.
	calls     callQueue
	queued    uint64
	applied   uint64
	inMachine int       // calls of the state machine or of Save under way
	wake      sync.Cond // real time: told when there are calls to make
	isReady   bool      // simulated: it is in the network's ready queue
	scratch   applyScratch

	saving   bool           // a snapshot was prepared and is not saved yet
	prepared shard.Snapshot // it, until Save is called
	nextSave uint64         // no snapshot before this index: an attempt failed
	stop     chan struct{}  // closed when it has ended
}

var _ shard.Log = (*Log)(nil)

// startLog opens a replica.
func startLog(r *replica, machine shard.StateMachine) *Log {
	n, s := r.group.net, r.store
	l := &Log{
		net: n, group: r.group, replica: r, host: r.host, machine: machine,
		belief: shard.Leadership{Term: s.term},
		known:  s.commit, verified: s.commit,
		queued: s.snapshotIndex(), applied: s.snapshotIndex(),
		stop: make(chan struct{}),
	}
	l.wake.L = &n.mu
	shown := l.belief
	l.shown.Store(&shown)
	r.log = l
	n.logs = append(n.logs, l)
	n.trace.add(n.now, Record{Kind: RecordOpened, Group: l.group.id, Host: l.host.id, Term: s.term, Index: s.last()})
	if s.snapshot != nil {
		l.addCall(call{kind: callRestore, image: s.snapshot})
	}
	l.enqueueCommitted()
	l.armElection()
	l.group.bootstrap()
	n.disturb()
	if n.real != nil {
		n.real.startWorker(l)
	}
	return l
}

// Propose hands over a batch. It is taken by this host's replica if that believes to lead; otherwise
// its outcome is shard.OutcomeDropped.
func (l *Log) Propose(batch []byte, done func(shard.Outcome)) error {
	var err error
	l.net.do(func() { err = l.propose(batch, done) })
	return err
}

// Barrier asks a majority whether the leader still leads: this host where it believes to be that,
// otherwise by way of the host that it believes leads. It fails with shard.ErrNoQuorum at once where
// no leader is known, and when the term ends meanwhile.
func (l *Log) Barrier(done func(error)) error {
	var err error
	l.net.do(func() { err = l.barrier(done) })
	return err
}

// Leadership returns this host's belief.
func (l *Log) Leadership() shard.Leadership { return *l.shown.Load() }

// Transfer asks for leadership to move. Only the leader does something about it: it drops proposals
// until the other host leads, or gives up after an election timeout.
func (l *Log) Transfer(to shard.HostID) error {
	var err error
	l.net.do(func() {
		target := l.group.replicaOn(to)
		switch {
		case l.ended:
			err = shard.ErrLogClosed
		case target == nil:
			err = fmt.Errorf("transferring group %d to host %d: %w", l.group.id, to, shard.ErrNotMember)
		default:
			l.onHost(func() { l.transferTo(target) })
		}
	})
	return err
}

// Follower returns up to which index another host is known to have the log, and whether it was heard of within an
// election timeout. Both are zero where this host does not lead.
func (l *Log) Follower(id shard.HostID) (index uint64, near bool) {
	l.net.do(func() {
		r := l.group.replicaOn(id)
		if l.ended || l.leading == nil || r == nil || r == l.replica {
			return
		}
		p := &l.leading.peers[r.pos]
		index = p.match
		near = l.surelyHeardBy(r) || p.heard >= l.net.now-l.host.virtual(l.net.cfg.ElectionTimeout)
	})
	return index, near
}

// Close ends this host's part in the group, as a clean stop of its process would: all that was written
// is synced first. Closing a log twice is no error. It may be called from a callback; callbacks of what
// was in flight may come after it has returned.
func (l *Log) Close() error {
	l.net.do(func() {
		l.close()
		l.awaitMachine()
	})
	return nil
}

// Err tells why the state machine is not fed any more, or nil. It is for tests that expect no error.
func (l *Log) Err() error {
	var err error
	l.net.do(func() { err = l.failed })
	return err
}

// Host returns the host whose log this is.
func (l *Log) Host() shard.HostID { return l.host.id }

// close is Close, without waiting for the state machine.
func (l *Log) close() {
	if l.closed {
		return
	}
	if !l.ended {
		l.end()
		l.replica.crashed(false)
		l.net.trace.add(l.net.now, Record{Kind: RecordClosed, Group: l.group.id, Host: l.host.id})
		l.net.disturb()
	}
	l.closed = true
	l.net.forget(l)
	for _, p := range l.proposals.items {
		l.finish(p, shard.OutcomeUnknown)
	}
	for _, b := range l.barriers.items {
		l.finishBarrier(b, shard.ErrLogClosed)
	}
	l.wakeCaller()
}

// end takes the log out of everything that happens.
func (l *Log) end() {
	l.ended = true
	l.leading = nil
	l.replica.log = nil
	close(l.stop)
}

// forget takes a closed log out of the list.
func (n *Network) forget(l *Log) {
	for i, o := range n.logs {
		if o == l {
			n.logs = append(n.logs[:i], n.logs[i+1:]...)
			return
		}
	}
}

// onHost does something as the host's process would when it is called: after what was called before,
// and not while the host is paused.
func (l *Log) onHost(f func()) {
	l.net.schedule(0, event{host: l.host, log: l, run: f})
}

// after does something when a timer of the host has run for that long by its clock.
func (l *Log) after(local time.Duration, f func()) {
	l.net.schedule(l.host.virtual(local), event{host: l.host, log: l, run: f})
}

// sendTo sends to another replica of the group. It does nothing there when that is not open.
func (l *Log) sendTo(r *replica, f func(at *Log)) {
	l.net.send(l.host, r, func() {
		if r.log != nil {
			f(r.log)
		}
	})
}

// setBelief changes what the host believes, and tells the state machine.
func (l *Log) setBelief(leader shard.HostID, term uint64) {
	b := shard.Leadership{Leader: leader, Term: term}
	if b == l.belief {
		return
	}
	if term < l.belief.Term {
		l.group.violated("host %d goes back from term %d to %d", l.host.id, l.belief.Term, term)
	}
	l.belief = b
	l.shown.Store(&b)
	l.net.trace.add(l.net.now, Record{Kind: RecordBelief, Group: l.group.id, Host: l.host.id, Peer: leader, Term: term})
	l.addCall(call{kind: callLeadership, leadership: b})
}
