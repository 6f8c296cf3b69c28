package executor

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// ErrNotGoverning is returned for questions to the governing host alone: the host that leads the meta shard, and has
// heard from the other hosts since.
var ErrNotGoverning = errors.New("executor: this host does not govern")

// Meta is this host's replica of the meta shard. Any goroutine may call all of its methods.
type Meta interface {
	// Leadership is the leadership of the meta shard, as far as this host knows. The call is cheap.
	Leadership() shard.Leadership
	// Barrier returns once this host has applied everything that was committed before the call.
	Barrier(ctx context.Context) error
	// State is everything that this host has applied. The result never changes afterwards.
	State() State
	// Propose proposes a command, and returns once this host has applied the command. An error says that the command
	// was refused, or that the outcome is unknown: the next State will show the outcome.
	Propose(ctx context.Context, c Command) error
}

// State is the part of the meta machine that the plan depends on.
type State struct {
	Records *hosts.Records
	Plan    *plan.Plan[governor.Action]
	// Now is the shard time, in milliseconds, of a command that is proposed now.
	Now uint64
	// Term is the last term whose leader has begun, and Began the shard time of the beginning.
	Term, Began uint64
	// Grace is the longest grace period in force, in milliseconds.
	Grace uint64
}

// Verb is the effect of a Command.
type Verb uint8

// The commands that an executor proposes. The fields that count stand with each verb.
const (
	VerbBegin    Verb = iota + 1 // a step: Term, Revision, Proposal
	VerbProgress                 // of a step: Act, Phase
	VerbRetry                    // an act for a step has failed: Act, Text
	VerbDone                     // a step has reached its goal: Act
	VerbDrop                     // a step is no longer wanted: Act
	VerbKnown                    // a membership was read: Term, Shard, Change, Members
	VerbFail                     // a host is taken for failed: Term, Action
	VerbReach                    // a host has come to its target: Term, Action
	VerbCleared                  // a host has deleted a replica: Shard, Replica, Incarnation
	VerbCounted                  // counters of shards were reported: Term, Counts
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
}

// Calls reaches other hosts.
type Calls interface {
	// Call has a host answer a request, with the result of its Agent.Answer. Call ends with the context at the
	// latest, and an unreachable host delays no other call.
	Call(ctx context.Context, to shard.HostID, request []byte) (answer []byte, err error)
}

// Replicas are the replicas that this host runs. Any goroutine may call all methods.
type Replicas interface {
	// Held are the running replicas.
	Held() []Held
	// Start starts a replica that was or will be added as a learner, and makes sure that the replica starts again
	// with the host. A running replica is left as it is. The id of a discarded replica is refused for ever.
	Start(ctx context.Context, id hosts.ShardID, replica uint64) error
	// Discard stops a replica and deletes its data. A second Discard does nothing.
	Discard(ctx context.Context, id hosts.ShardID, replica uint64) error
	// Renew makes the replica of an EffectRenew the only replica of a new group, with what this host has of the group
	// before. A second Renew does nothing. Renew goes on when its context ends.
	Renew(ctx context.Context, e *protocol.StepExecute) error
}

// Held is a replica that runs at this host.
type Held struct {
	Shard   hosts.ShardID
	Replica uint64
	Log     Log
	// Last returns the term and the index of the last entry in the replica's log. Last may read the disk.
	Last func() (term, index uint64)
	// Counted returns the counters of a data shard as applied here; nil for the meta shard.
	Counted func() hosts.Count
}

// Log is the log of a replica that runs at this host.
type Log interface {
	shard.Members
	Leadership() shard.Leadership
	Barrier(done func(error)) error
	Transfer(to shard.HostID) error
	// Removed reports whether the replica has been removed from its group, and runs no more.
	Removed() bool
	// Applied is the index of the last entry that was applied here.
	Applied() uint64
	// Progress is how far the other replicas are. The list is empty if this host does not lead.
	Progress() []shard.Progress
}
