package shard

import (
	"errors"
	"io"
)

// HostID names a host of the cluster. Zero stands for "none" or "unknown".
type HostID uint64

// Outcome is what became of a proposal, as far as its proposer can know.
type Outcome uint8

const (
	// OutcomeApplied: the batch was committed and this host's replica applied it.
	OutcomeApplied Outcome = 1
	// OutcomeDropped: the log did not take the batch: no leader, or leadership on its way to another
	// host. It was not applied and never will be.
	OutcomeDropped Outcome = 2
	// OutcomeUnknown: it may have been applied, may be applied later, or never.
	OutcomeUnknown Outcome = 3
)

// String returns the outcome for logs and tests.
func (o Outcome) String() string {
	switch o {
	case OutcomeApplied:
		return "applied"
	case OutcomeDropped:
		return "dropped"
	case OutcomeUnknown:
		return "unknown"
	}
	return "outcome-invalid"
}

var (
	// ErrLogClosed is returned by calls on a log that was closed.
	ErrLogClosed = errors.New("shard: the log is closed")
	// ErrLogBusy is returned when the log takes no more for now. Nothing was proposed.
	ErrLogBusy = errors.New("shard: the log is busy")
	// ErrNoQuorum is given to a barrier that no majority confirmed in time.
	ErrNoQuorum = errors.New("shard: no majority confirmed the read barrier")
	// ErrNotMember is returned for a host that has no replica of the shard.
	ErrNotMember = errors.New("shard: that host has no replica of the shard")
)

// Leadership is what one host believes about who leads a shard. It may be wrong or old: only a
// barrier is sure. Term grows with every election.
type Leadership struct {
	Leader HostID // zero: unknown
	Term   uint64
}

// Log is one host's end of the replicated log of a shard. All methods may be called from any
// goroutine, return without waiting for the network or the disk, and give their outcome to a
// callback. Callbacks run on the log's own goroutines, each exactly once, also when the log is closed
// (then perhaps after Close has returned); they must not block, and may call the log. So may the state
// machine: LeadershipChanged everything, Apply only Propose, its other methods nothing.
type Log interface {
	// Propose hands over an encoded batch. The log keeps no reference to it after returning. Batches
	// proposed one after the other on one host are applied in that order where they are applied at
	// all; across a change of leader an earlier one may be lost while a later one is not.
	// With a nil error done is called once; with OutcomeApplied after Apply of this host's state
	// machine has returned for the batch.
	Propose(batch []byte, done func(Outcome)) error

	// Forward hands a batch to whichever host leads, best effort: it may be lost without a word, and
	// only the state shows what became of it. It is for what a host that does not lead says of itself,
	// again and again until it sees it. It may take effect more than once. ErrLogBusy: try later.
	Forward(batch []byte) error

	// Barrier asks a majority whether the leader this host knows still leads. done(nil) is called
	// when that is so and this host's state machine has applied everything that was committed before
	// Barrier was called: what is read from it then is not stale. Barriers share rounds. Where no
	// leader is known it may fail at once: who tries again waits a little first.
	Barrier(done func(error)) error

	// Leadership returns this host's belief. It is cheap.
	Leadership() Leadership

	// Transfer asks for leadership to move to another host; best effort, and proposals are dropped
	// meanwhile. The outcome shows as a change of Leadership.
	Transfer(to HostID) error

	// Close ends this host's part: no call of the state machine is under way or comes after it
	// returns, and what is in flight ends as OutcomeUnknown or with ErrLogClosed. A second one does
	// nothing.
	Close() error
}

// Entry is one committed batch.
type Entry struct {
	Index uint64
	Data  []byte // valid during Apply only
}

// StateMachine is what a log feeds. Apply, PrepareSnapshot and Restore never overlap one another;
// Snapshot.Save may run beside Apply.
type StateMachine interface {
	// Apply applies entries in order, at least one; their indices grow and may have gaps. An error means that this
	// replica cannot go on (an entry that it does not understand); the log stops feeding it.
	Apply(entries []Entry) error

	// PrepareSnapshot fixes the state as it is now, in next to no time.
	PrepareSnapshot() (Snapshot, error)

	// Restore replaces the state by that of a saved snapshot.
	Restore(r io.Reader) error

	// LeadershipChanged reports every change in this host's belief, in order, from one goroutine. It
	// must not block. Terms never fall, and a host that has ceased to lead a term never leads that term
	// again: it needs another election, and that another term.
	LeadershipChanged(l Leadership)
}

// Snapshot is a state fixed by PrepareSnapshot.
type Snapshot interface {
	// Save writes the state; it may take long and runs beside Apply. It ends early with
	// ErrSnapshotStopped when stop is closed.
	Save(w io.Writer, stop <-chan struct{}) error
	// Discard releases what the snapshot holds on to. It must be called, after Save too; more than
	// once is allowed.
	Discard()
}

// ErrSnapshotStopped is returned by Save when it was asked to stop.
var ErrSnapshotStopped = errors.New("shard: saving the snapshot was stopped")
