package executor

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/shard/slots"
)

// ErrNotGoverning is returned for questions only the governor can answer: the host that leads the meta shard and has
// since received reports from the other hosts.
var ErrNotGoverning = errors.New("executor: the host is not the governor")

// Meta is the host's replica of the meta shard. Safe for concurrent use.
type Meta interface {
	// Leadership returns the meta shard's leadership as far as the host knows. The call is cheap.
	Leadership() shard.Leadership
	// Barrier returns once the host has applied everything that was committed before the call.
	Barrier(ctx context.Context) error
	// State returns everything the host has applied. The result is never modified afterwards.
	State() State
	// Propose proposes a command, and returns after the host has applied the command. On an error, the command was
	// refused or its outcome is unknown: the next State shows the outcome.
	Propose(ctx context.Context, c Command) error
}

// State is the part of the meta machine on which the plan depends.
type State struct {
	Records *hosts.Records
	Plan    *plan.Plan[governor.Action]
	// Now is the shard time, in milliseconds, for a command that is proposed now.
	Now uint64
	// Term is the last term whose leader has begun. Began is the shard time at which that term began.
	Term, Began uint64
	// Grace is the longest grace period in effect, in milliseconds.
	Grace uint64
}

// Verb is a Command's effect.
type Verb uint8

// Commands an executor proposes. Every verb lists the fields it uses.
const (
	VerbBegin    Verb = iota + 1 // a step: Term, Revision, Proposal
	VerbProgress                 // of a step: Act, Phase
	VerbRetry                    // an action for a step has failed: Act, Text
	VerbDone                     // a step has reached its goal: Act
	VerbDrop                     // a step is no longer wanted: Act
	VerbKnown                    // a membership was read: Term, Shard, Change, Members
	VerbFail                     // a host is taken for failed: Term, Action
	VerbReach                    // a host has come to its target: Term, Action
	VerbCleared                  // a host has deleted a replica: Shard, Replica, Incarnation
	VerbCounted                  // counters of shards were reported: Term, Counts
	VerbSlow                     // a host is slow, or has recovered: Term, Mark
	VerbAssign                   // an attempt to move a slot has ended: Slot, Owner, Text
	VerbServe                    // an added shard takes slots: Term, Action
	VerbRetire                   // a shard that owns nothing is deleted: Term, Action
	VerbRestart                  // an added shard begins anew: Term, Action
)

// Command is one command of the meta machine.
type Command struct {
	Verb     Verb
	Term     uint64
	Revision uint64
	Proposal plan.Proposal[governor.Action]
	Act      plan.Act
	Phase    plan.Phase
	Text     string
	Action   governor.Action

	Shard       hosts.ShardID
	Change      uint64
	Members     []hosts.Member
	Replica     uint64
	Incarnation hosts.Incarnation
	Counts      []hosts.Count
	Mark        governor.SlowMark
	Slot        shard.Slot
	Owner       slots.Owner
}

// Calls reaches remote hosts.
type Calls interface {
	// Call sends a request to a host, and returns the result from its Agent.Answer. Call ends when the context ends
	// at the latest, and an unreachable host delays no other call.
	Call(ctx context.Context, to shard.HostID, request []byte) (answer []byte, err error)
}

// Replicas are the replicas the host runs. Safe for concurrent use.
type Replicas interface {
	// Held returns the running replicas.
	Held() []Held
	// Start starts a replica that was or will be added as a learner, and ensures that the replica starts again with
	// the host. Start does nothing if the replica is running. The id of a discarded replica is refused permanently.
	Start(ctx context.Context, id hosts.ShardID, replica uint64) error
	// Discard stops a replica and deletes its data. A second Discard does nothing.
	Discard(ctx context.Context, id hosts.ShardID, replica uint64) error
	// Renew makes the replica in an EffectRebuild the only replica of a new group, with the host's data from the
	// previous group. A second Renew does nothing. Renew continues after its context ends.
	Renew(ctx context.Context, e *protocol.StepExecute) error
	// Slot carries out a slot effect as the leader of the effect's shard. Slot returns the outcome once the attempt is
	// over in this shard, with a reason if the slot is kept; SlotNone if the context has ended before. A repeated
	// effect returns what became of the attempt.
	Slot(ctx context.Context, e *protocol.StepExecute) (protocol.SlotOutcome, string, error)
}

// Held is a replica that runs on the host.
type Held struct {
	Shard   hosts.ShardID
	Replica uint64
	Log     Log
	// Last returns the term and index of the last entry in the replica's log. Last may read the disk.
	Last func() (term, index uint64)
	// Counted returns a data shard's counters as applied here; nil for the meta shard.
	Counted func() hosts.Count
	// Idle reports whether a data shard has nothing to keep, as applied here; nil for the meta shard.
	Idle func() bool
	// Load returns how full and how busy a data shard is, as its leader sees it; nil if that is not measured.
	Load func() Load
}

// Load is a data shard's load.
type Load struct {
	Quota  uint64        // largest share of a quota in use, in percent: the shard's own, or that of a node in it
	Commit time.Duration // 99th percentile of commit times in the last seconds; 0 if unknown
}

// Log is the log of a replica on the host.
type Log interface {
	shard.Members
	Leadership() shard.Leadership
	Barrier(done func(error)) error
	Transfer(to shard.HostID) error
	// Removed reports whether the replica has been removed from its group and no longer runs.
	Removed() bool
	// Applied returns the index of the last entry that was applied here.
	Applied() uint64
	// Progress returns the other replicas' progress, or an empty list if the host does not lead.
	Progress() []shard.Progress
}
