package shard

import (
	"cmp"
	"errors"
	"io"
)

// HostID identifies a host in the cluster. Zero means no host, or an unknown host.
type HostID uint64

// Outcome is a proposal's outcome, as far as the proposer can know.
type Outcome uint8

const (
	// OutcomeApplied: the batch was committed, and the proposing host's replica applied it.
	OutcomeApplied Outcome = 1
	// OutcomeDropped: the log did not accept the batch, because there was no leader or because leadership was being
	// transferred. The batch was not applied and never will be.
	OutcomeDropped Outcome = 2
	// OutcomeUnknown: the batch may have been applied, may be applied later, or never.
	OutcomeUnknown Outcome = 3
)

var outcomeNames = [256]string{OutcomeApplied: "applied", OutcomeDropped: "dropped", OutcomeUnknown: "unknown"}

// String formats the outcome for logs and tests.
func (o Outcome) String() string {
	return cmp.Or(outcomeNames[o], "outcome-invalid")
}

var (
	// ErrLogClosed is returned by calls on a closed log.
	ErrLogClosed = errors.New("shard: the log is closed")
	// ErrLogBusy is returned if the log accepts no more for now. Nothing was proposed.
	ErrLogBusy = errors.New("shard: the log is busy")
	// ErrNoQuorum is the result of a barrier no majority confirmed in time.
	ErrNoQuorum = errors.New("shard: no majority confirmed the read barrier")
	// ErrNotMember is returned for a host without a replica of the shard.
	ErrNotMember = errors.New("shard: that host has no replica of the shard")
	// ErrMemoryFull is wrapped if a host refuses a command because it has no memory for growth.
	ErrMemoryFull = errors.New("the memory is nearly full")
)

// GroupTermBits is how many term bits count within one replica group of a shard: a later group's terms are above all
// terms in an earlier group.
const GroupTermBits = 32

// Leadership is a host's belief about a shard's leader. The belief may be wrong or old: only a barrier is certain. Term
// grows with every election.
type Leadership struct {
	Leader HostID // zero: unknown
	Term   uint64
}

// Log is one host's part in a shard's replicated log. All methods are safe for concurrent use, return without waiting
// for the network or the disk, and give their outcome to a callback. Callbacks run on the log's own goroutines, each
// exactly once, also when the log is closed (then perhaps after Close has returned). Callbacks must not block, and may
// call the log. The state machine may call the log too: LeadershipChanged may call every method, Apply only Propose,
// the other state machine methods none.
type Log interface {
	// Propose hands over an encoded batch. The log keeps no reference to the batch after returning. Batches proposed by
	// one host are applied in the order of the proposals, as far as they are applied at all; across a leader change an
	// earlier batch may be lost although a later batch is not. If the error is nil, done is called once; with
	// OutcomeApplied after Apply on the host's state machine has returned for the batch.
	Propose(batch []byte, done func(Outcome)) error

	// Barrier asks a majority whether the known leader still leads. done(nil) is called after a majority has confirmed
	// the leader and the host's state machine has applied everything committed before Barrier was called: a read is
	// then not stale. Barriers share rounds. Without a known leader Barrier may fail at once: callers wait a little
	// before they retry.
	Barrier(done func(error)) error

	// Leadership returns the host's belief. The call is cheap.
	Leadership() Leadership

	// Transfer asks for leadership to move to another host; best effort, and proposals are dropped meanwhile. The
	// outcome appears as a Leadership change.
	Transfer(to HostID) error

	// Close ends the host's part. No state machine call is in progress or begins after Close has returned; in-flight
	// proposals and barriers end as OutcomeUnknown or with ErrLogClosed. A second Close does nothing.
	Close() error
}

// Entry is a committed batch.
type Entry struct {
	Index uint64
	Data  []byte // valid during Apply only
	// Commands is set by Apply: the number of commands in the batch. A log that saves snapshots counts them, because a
	// restart applies all commands since the last snapshot.
	Commands int
}

// StateMachine consumes a log. Apply, PrepareSnapshot and Restore never overlap; Snapshot.Save may run beside Apply.
type StateMachine interface {
	// Apply applies entries in order, at least one; their indexes grow and may have gaps. An error means that the
	// replica cannot go on, because it does not understand an entry; the log sends no further entries.
	Apply(entries []Entry) error

	Saver

	// Restore replaces the state by a saved snapshot.
	Restore(r io.Reader) error

	// LeadershipChanged reports every change in the host's belief, in order, from one goroutine, and must not block.
	// Terms never fall. A host that has ceased to lead in a term never leads in the same term again: a new election
	// begins a new term.
	LeadershipChanged(l Leadership)
}

// Saver can fix its state for saving.
type Saver interface {
	// PrepareSnapshot fixes the present state, in almost no time.
	PrepareSnapshot() (Snapshot, error)
}

// Snapshot is a state fixed by PrepareSnapshot.
type Snapshot interface {
	// Save writes the state. It may take long and runs beside Apply. When stop is closed, Save ends early with
	// ErrSnapshotStopped.
	Save(w io.Writer, stop <-chan struct{}) error
	// Discard releases the snapshot's memory. It must be called, after Save too; further calls are allowed.
	Discard()
}

// ErrSnapshotStopped is returned by a Save that was stopped.
var ErrSnapshotStopped = errors.New("shard: saving the snapshot was stopped")
