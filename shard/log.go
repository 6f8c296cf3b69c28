package shard

import (
	"cmp"
	"errors"
	"io"
)

// HostID names a host of the cluster. Zero means no host, or an unknown host.
type HostID uint64

// Outcome is the outcome of a proposal, as far as the proposer can know.
type Outcome uint8

const (
	// OutcomeApplied: the batch was committed, and the replica of the proposing host applied it.
	OutcomeApplied Outcome = 1
	// OutcomeDropped: the log did not take the batch, for lack of a leader or because the leadership was moving to
	// another host. The batch was not applied and never will be.
	OutcomeDropped Outcome = 2
	// OutcomeUnknown: the batch may have been applied, may be applied later, or never.
	OutcomeUnknown Outcome = 3
)

var outcomeNames = [256]string{OutcomeApplied: "applied", OutcomeDropped: "dropped", OutcomeUnknown: "unknown"}

// String returns the outcome for logs and tests.
func (o Outcome) String() string {
	return cmp.Or(outcomeNames[o], "outcome-invalid")
}

var (
	// ErrLogClosed is returned by calls on a closed log.
	ErrLogClosed = errors.New("shard: the log is closed")
	// ErrLogBusy is returned when the log takes no more for now. Nothing was proposed.
	ErrLogBusy = errors.New("shard: the log is busy")
	// ErrNoQuorum is given to a barrier that no majority confirmed in time.
	ErrNoQuorum = errors.New("shard: no majority confirmed the read barrier")
	// ErrNotMember is returned for a host without a replica of the shard.
	ErrNotMember = errors.New("shard: that host has no replica of the shard")
	// ErrMemoryFull is wrapped by the refusals of hosts that have no memory for what grows.
	ErrMemoryFull = errors.New("the memory is nearly full")
)

// GroupTermBits is how many bits of a term count within one group of a shard: the terms of a later group are above all
// terms of an earlier group.
const GroupTermBits = 32

// Leadership is a host's belief about the leader of a shard. The belief may be wrong or old: only a barrier is sure.
// Term grows with every election.
type Leadership struct {
	Leader HostID // zero: unknown
	Term   uint64
}

// Log is one host's end of the replicated log of a shard. All methods may be called from any goroutine, return
// without waiting for the network or the disk, and give their outcome to a callback. Callbacks run on the log's own
// goroutines, each exactly once, also when the log is closed (then perhaps after Close has returned). Callbacks must
// not block, and may call the log. The state machine may call the log too: LeadershipChanged may call every method,
// Apply only Propose, the other methods of the state machine none.
type Log interface {
	// Propose hands over an encoded batch. The log keeps no reference to the batch after returning. Batches that one
	// host proposes one after the other are applied in their order, as far as they are applied at all; across a
	// change of leader an earlier batch may be lost although a later batch is not. If the error is nil, done is
	// called once; with OutcomeApplied after Apply of the host's state machine has returned for the batch.
	Propose(batch []byte, done func(Outcome)) error

	// Barrier asks a majority whether the known leader still leads. done(nil) is called after a majority has
	// confirmed the leader and the host's state machine has applied everything that was committed before the call of
	// Barrier: a read of the state is not stale then. Barriers share rounds. Without a known leader Barrier may fail
	// at once: callers wait a little before they try again.
	Barrier(done func(error)) error

	// Leadership returns the host's belief. The call is cheap.
	Leadership() Leadership

	// Transfer asks for leadership to move to another host; best effort, and proposals are dropped
	// meanwhile. The outcome shows as a change of Leadership.
	Transfer(to HostID) error

	// Close ends the host's part. No call of the state machine is under way or begins after Close has returned;
	// proposals and barriers in flight end as OutcomeUnknown or with ErrLogClosed. A second Close does nothing.
	Close() error
}

// Entry is a committed batch.
type Entry struct {
	Index uint64
	Data  []byte // valid during Apply only
	// Commands is set by Apply: how many commands the batch has. A log that saves snapshots counts them, because a
	// restart applies all commands since the last snapshot.
	Commands int
}

// StateMachine is the consumer of a log. Apply, PrepareSnapshot and Restore never overlap; Snapshot.Save may run
// beside Apply.
type StateMachine interface {
	// Apply applies entries in order, at least one; their indices grow and may have gaps. An error means that the
	// replica cannot go on, because of an entry that it does not understand; the log sends no further entries.
	Apply(entries []Entry) error

	Saver

	// Restore replaces the state by a saved snapshot.
	Restore(r io.Reader) error

	// LeadershipChanged reports every change of the host's belief, in order, from one goroutine, and must not block.
	// Terms never fall. A host that has ceased to lead in a term never leads in the same term again: a new election
	// begins a new term.
	LeadershipChanged(l Leadership)
}

// Saver can fix its state for saving.
type Saver interface {
	// PrepareSnapshot fixes the present state, in next to no time.
	PrepareSnapshot() (Snapshot, error)
}

// Snapshot is a state fixed by PrepareSnapshot.
type Snapshot interface {
	// Save writes the state. Save may take long and runs beside Apply. When stop is closed, Save ends early with
	// ErrSnapshotStopped.
	Save(w io.Writer, stop <-chan struct{}) error
	// Discard releases the memory of the snapshot. Discard must be called, after Save too; further calls are allowed.
	Discard()
}

// ErrSnapshotStopped is returned by a Save that was stopped.
var ErrSnapshotStopped = errors.New("shard: saving the snapshot was stopped")
